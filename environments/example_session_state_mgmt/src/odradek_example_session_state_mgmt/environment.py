"""A session with a state of its own: a counter."""

from pydantic import BaseModel, Field

from odradek import Environment, JsonObject, Message, Reward, ToolError, Trajectory, tool
from odradek.demonstrations import demonstrate

_BOUND = 2**63
_FORM = "Use the tools: call increment_counter for each number to add, then call get_counter_value."

_ASK = "Use increment_counter: {}"
_EXAMPLE = demonstrate(
    _ASK.format("Add 2, then add 7, then get the count."),
    [
        ("increment_counter", {"count": 2}, {"success": True}),
        ("increment_counter", {"count": 7}, {"success": True}),
        ("get_counter_value", {}, {"count": 20}),
    ],
    "The count is 20.",
)


class ExampleSessionStateMgmt(Environment):
    """The counter begins at a value that the model is not told, and must end at the expected one."""

    name = "example_session_state_mgmt"

    class Task(BaseModel):
        initial_count: int
        instruction: str | None = Field(default=None, description="None: the row brings its own messages.")

    class Answer(BaseModel):
        expected_count: int

    class State(BaseModel):
        count: int

    def prompt(self, task: Task) -> list[Message]:
        if task.instruction is None:
            return []
        return [
            Message(role="system", content=_FORM),
            *_EXAMPLE,
            Message(role="user", content=_ASK.format(task.instruction)),
        ]

    def reset(self, task: Task, seed: int) -> State:
        return self.State(count=task.initial_count)

    @tool
    def increment_counter(self, state: State, count: int) -> dict[str, bool]:
        """Add a number to the counter."""
        if abs(state.count + count) >= _BOUND:
            raise ToolError("The counter holds 64 bits; that would be too much.")
        state.count += count
        return {"success": True}

    @tool
    def get_counter_value(self, state: State) -> dict[str, int]:
        """Read the counter."""
        return {"count": state.count}

    def evidence(self, state: State, task: Task, answer: None) -> JsonObject:
        return {"count": state.count}

    def verify(self, trajectory: Trajectory, answer: Answer) -> Reward:
        if trajectory.evidence is None:
            raise ValueError("the trajectory has no evidence: its session was never closed")
        count = trajectory.evidence["count"]
        accuracy = float(count == answer.expected_count)
        return Reward(reward=accuracy, components={"accuracy": accuracy}, details={"count": count})
