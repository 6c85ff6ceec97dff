"""An agent that is a program of its own."""

from odradek.harness import Harness, Rollout

PREFIX = "program:"
"""`program:<name>` is the harness that lets the program called so play."""


class Program(Harness):
    """Runs a program on the prompt, and is done when it ends."""

    def __init__(self, name: str) -> None:
        self._program = name

    async def run(self, rollout: Rollout) -> None:
        await rollout.program(self._program)
