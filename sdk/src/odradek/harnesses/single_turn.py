"""One question, one answer."""

from typing import ClassVar

from odradek.harness import Harness, Rollout


class SingleTurn(Harness):
    """Asks the model once. Tool calls in the reply are part of the answer; nobody carries them out."""

    name: ClassVar[str] = "single_turn"

    async def run(self, rollout: Rollout) -> None:
        await rollout.model()
