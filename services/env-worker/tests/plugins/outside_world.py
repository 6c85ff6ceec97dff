"""A world whose tools write a line to a file outside it."""

from pathlib import Path

from pydantic import BaseModel

from odradek import Environment, JsonObject, Message, Reward, Trajectory, tool


class OutsideWorld(Environment):
    name = "outside_world"

    class Task(BaseModel):
        file: Path

    class State(BaseModel):
        file: Path
        known: int = 0

    def prompt(self, task: Task) -> list[Message]:
        return [Message(role="user", content="Write.")]

    def reset(self, task: Task, seed: int) -> State:
        return self.State(file=task.file)

    @tool(outside=True)
    def once(self, state: State) -> str:
        return _write(state)

    @tool(outside=True, idempotent=True)
    def again(self, state: State) -> str:
        return _write(state)

    def evidence(self, state: State, task: Task, answer: None) -> JsonObject:
        return {"known": state.known}

    def verify(self, trajectory: Trajectory, answer: None) -> Reward:
        return Reward(reward=0.0)


def _write(state: OutsideWorld.State) -> str:
    with state.file.open("a") as file:
        file.write("written\n")
    state.known += 1
    return "written"
