"""One tool, to be called at least once."""

from pydantic import BaseModel, Field

from odradek import Environment, Message, Reward, Trajectory, tool
from odradek.demonstrations import demonstrate
from odradek.transcript import function_calls

_FORM = "You answer questions about the weather. Always call get_weather with the city first."

_ASK = "Use get_weather: {}"
_EXAMPLE = demonstrate(
    _ASK.format("How is the weather in Bergen?"),
    [
        (
            "get_weather",
            {"city": "Bergen"},
            {"city": "Bergen", "weather_description": "The weather in Bergen is cold."},
        )
    ],
    "It is cold in Bergen.",
)


class ExampleSingleToolCall(Environment):
    """A question about the weather: 1 when the model called `get_weather`, whatever it said then."""

    name = "example_single_tool_call"

    class Task(BaseModel):
        question: str | None = Field(default=None, description="None: the row brings its own messages.")

    class State(BaseModel):
        """Nothing is remembered between the calls."""

    def prompt(self, task: Task) -> list[Message]:
        if task.question is None:
            return []
        return [
            Message(role="system", content=_FORM),
            *_EXAMPLE,
            Message(role="user", content=_ASK.format(task.question)),
        ]

    @tool
    def get_weather(self, state: State, city: str) -> dict[str, str]:
        """Get the weather in a city."""
        return {"city": city, "weather_description": f"The weather in {city} is cold."}

    def verify(self, trajectory: Trajectory, answer: None) -> Reward:
        calls = [call.name for call in function_calls(trajectory)].count("get_weather")
        return Reward(reward=float(calls > 0), details={"calls": calls})
