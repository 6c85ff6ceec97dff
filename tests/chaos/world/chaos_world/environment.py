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
        seed: int
        count: int = 0
        recited: int = 0

    def prompt(self, task: Task) -> list[Message]:
        calls = json.dumps([call.model_dump() for call in task.calls])
        return [Message(role="user", content=f"Calls: {calls}")]

    def reset(self, task: Task, seed: int) -> State:
        return self.State(seed=seed)

    @tool
    def add(self, state: State, amount: int) -> int:
        """Add to the counter: an effect on the session's state alone."""
        state.count += amount
        return state.count

    @tool(outside=True)
    def write_once(self, state: State, name: str) -> str:
        """Write a line to a note, at most once."""
        return _write(f"{name}-{state.seed}")

    @tool(outside=True, idempotent=True)
    def write_again(self, state: State, name: str) -> str:
        """Write a line to a note; writing it again does no harm."""
        return _write(f"{name}-{state.seed}")

    @tool
    def recite(self, state: State, kib: int) -> str:
        """Tell much: text that no compression makes much smaller, and no other like it."""
        state.recited += 1
        return _noise(f"{state.seed} {state.recited}", kib)

    @tool
    def refuse(self, state: State) -> str:
        """Say no, politely."""
        raise ToolError("I would rather not.")

    @tool
    def misbehave(self, state: State, deed: str, note: str = "deed") -> str:
        """Change the state half, then do what no tool should."""
        state.count += 1000
        done = deeds.perform(deed, notes() / f"{note}-{state.seed}")
        state.count -= 1000
        return done

    def evidence(self, state: State, task: Task, answer: None) -> JsonObject:
        return {"count": state.count}

    def verify(self, trajectory: Trajectory, answer: Answer) -> Reward:
        deed = str(trajectory.task["verifier"])
        if deed != "grade":
            deeds.perform(deed, notes() / trajectory.rollout_id.replace("/", "-"))
        evidence = trajectory.evidence or {}
        return Reward(reward=float(evidence["count"] == answer.expected))


def notes() -> Path:
    """Where this world's effects can be seen from outside: beside the folder in which a test orders faults."""
    return Path(os.environ["ODRADEK_FAULTS"]).with_name("notes")


def _write(name: str) -> str:
    notes().mkdir(exist_ok=True)
    with (notes() / name).open("a") as file:
        file.write(f"{os.getpid()}\n")
        file.flush()
        os.fsync(file.fileno())
    return "written"


def _noise(seed: str, kib: int) -> str:
    """Hex digits of a hash chain: the same for the same seed, half as long once compressed."""
    blocks, block = [], seed
    for _ in range(kib * 16):
        block = hashlib.sha256(block.encode()).hexdigest()
        blocks.append(block)
    return "".join(blocks)
