"""The plain agent loop."""

from typing import ClassVar

from odradek.harness import Harness, Rollout


class ToolCalling(Harness):
    """Asks the model and carries out its tool calls, until it calls none, the episode is over, or a bound is reached.

    Where the environment has no session nothing can be carried out, and the first reply is the answer.
    """

    name: ClassVar[str] = "tool_calling"

    async def run(self, rollout: Rollout) -> None:
        while not rollout.finished:
            reply = await rollout.model()
            if not reply.tool_calls or not rollout.has_session:
                return
            await rollout.act(reply.tool_calls)
