"""The environment: a counter, tools beside it that do what no tool should, and a verifier of the same kind."""

import hashlib
import json
import os
from pathlib import Path

from pydantic import BaseModel, Field

from chaos_world import deeds
from odradek import Environment, JsonObject, Message, Reward, ToolError, Trajectory, tool


class PlannedCall(BaseModel):
    """A tool call that the model is to make."""

    name: str
    arguments: JsonObject = {}


class Chaos(Environment):
    """The counter must end at the expected value: each `add` applied once, whatever was killed meanwhile."""

    name = "chaos"
    harness = "chaos"

    class Task(BaseModel):
        calls: list[PlannedCall] = []
        harness: str = Field(default="play", description="What the harness does: see `Misplayed`.")
        verifier: str = Field(default="grade", description="What the verifier does: a deed, or `grade`.")

    class Answer(BaseModel):
        expected: int

    class State(BaseModel):
        count: int = 0
        told: list[str] = []

    def prompt(self, task: Task) -> list[Message]:
        calls = json.dumps([call.model_dump() for call in task.calls])
        return [Message(role="user", content=f"Calls: {calls}")]

    @tool
    def add(self, state: State, amount: int) -> int:
        """Add to the counter: an effect on the session's state alone."""
        state.count += amount
        return state.count

    @tool
    def write(self, state: State, path: str) -> str:
        """Write a line to a file: not counted as an outside effect, so it may be done again."""
        return _write(path)

    @tool(outside=True)
    def write_once(self, state: State, path: str) -> str:
        """Write a line to a file, at most once."""
        return _write(path)

    @tool(outside=True, idempotent=True)
    def write_again(self, state: State, path: str) -> str:
        """Write a line to a file; writing it again does no harm."""
        return _write(path)

    @tool
    def remember(self, state: State, kib: int) -> str:
        """Keep much in the session's state: text that no compression makes smaller."""
        state.told.append(_noise(len(state.told), kib))
        return f"{kib} KiB kept"

    @tool
    def recite(self, state: State, kib: int) -> str:
        """Tell much."""
        return _noise(state.count, kib)

    @tool
    def refuse(self, state: State) -> str:
        """Say no, politely."""
        raise ToolError("I would rather not.")

    @tool
    def misbehave(self, state: State, deed: str, note: str | None = None) -> str:
        """Change the state half, then do what no tool should."""
        state.count += 1000
        done = deeds.perform(deed, note)
        state.count -= 1000
        return done

    @tool
    async def misbehave_async(self, state: State, deed: str, note: str | None = None) -> str:
        """The same on the event loop."""
        return deeds.perform(deed, note)

    def evidence(self, state: State, task: Task, answer: None) -> JsonObject:
        return {"count": state.count}

    def verify(self, trajectory: Trajectory, answer: Answer) -> Reward:
        deed = str(trajectory.task["verifier"])
        if deed != "grade":
            deeds.perform(deed, None)
        evidence = trajectory.evidence or {}
        return Reward(reward=float(evidence["count"] == answer.expected))


def _write(path: str) -> str:
    with Path(path).open("a") as file:
        file.write(f"{os.getpid()}\n")
        file.flush()
        os.fsync(file.fileno())
    return "written"


def _noise(seed: int, kib: int) -> str:
    """Hex digits of a hash chain: the same for the same seed, half as long once compressed."""
    blocks, block = [], str(seed)
    for _ in range(kib * 16):
        block = hashlib.sha256(block.encode()).hexdigest()
        blocks.append(block)
    return "".join(blocks)
