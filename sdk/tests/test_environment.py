"""An environment as a user writes it."""

import asyncio
import json
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from odradek import (
    Environment,
    InvalidArguments,
    Message,
    Reward,
    ToolDefinitionError,
    ToolError,
    ToolResult,
    Trajectory,
    tool,
)


class Counter(Environment):
    name = "counter"

    class Task(BaseModel):
        start: int

    class Answer(BaseModel):
        expected: int

    class State(BaseModel):
        value: int

    def prompt(self, task: Task) -> list[Message]:
        return [Message(role="user", content=f"Start at {task.start}.")]

    def reset(self, task: Task, seed: int) -> State:
        return self.State(value=task.start)

    @tool
    def add(self, state: State, amount: Annotated[int, Field(description="How much.")]) -> str:
        """Add an amount."""
        if amount < 0:
            raise ToolError("Only upwards.")
        state.value += amount
        return f"now {state.value}"

    @tool
    async def read(self, state: State) -> dict[str, int]:
        return {"välue": state.value}

    @tool
    def stop(self, state: State, reason: str = "none") -> ToolResult:
        return ToolResult(reason, done=True)

    @tool
    def crash(self, state: State) -> str:
        raise RuntimeError("broken world")

    def verify(self, trajectory: Trajectory, answer: Answer) -> Reward:
        return Reward(reward=1.0)


class Doubling(Counter):
    name = "doubling"

    @tool
    def add(self, state: Counter.State, amount: int) -> str:
        """Add twice the amount."""
        state.value += 2 * amount
        return f"now {state.value}"

    def crash(self, state: Counter.State) -> str:
        return "not a tool any more"


async def call(name: str, arguments: str, environment: Environment | None = None) -> ToolResult:
    return await (environment or Counter()).call(Counter.State(value=1), name, arguments)


def test_tools_are_described_by_signature_and_docstring():
    specs = {spec.function.name: spec.function for spec in Counter().tools()}
    assert list(specs) == ["add", "read", "stop", "crash"]
    assert specs["add"].description == "Add an amount."
    assert specs["add"].parameters == {
        "type": "object",
        "properties": {"amount": {"type": "integer", "description": "How much."}},
        "required": ["amount"],
        "additionalProperties": False,
    }
    assert specs["read"].parameters == {"type": "object", "properties": {}, "additionalProperties": False}
    assert "required" not in specs["stop"].parameters


def test_a_subclass_overrides_and_withdraws_tools():
    assert [spec.function.name for spec in Doubling().tools()] == ["add", "read", "stop"]
    assert Doubling().tools()[0].function.description == "Add twice the amount."
    assert [spec.function.name for spec in Counter().tools()] == ["add", "read", "stop", "crash"]


def test_tools_say_what_they_do_outside():
    class Mailing(Counter):
        name = "mailing"

        @tool(outside=True)
        def send(self, state: Counter.State) -> str:
            return "sent"

        @tool(outside=True, idempotent=True)
        async def put(self, state: Counter.State) -> str:
            return "put"

        @tool()
        def look(self, state: Counter.State) -> str:
            return "seen"

    class Dry(Mailing):
        name = "dry"

        @tool
        def send(self, state: Counter.State) -> str:
            return "not sent"

    mailing = Mailing()
    assert [spec.function.name for spec in mailing.tools()][-3:] == ["send", "put", "look"]
    once = {name: mailing.at_most_once(name) for name in ("send", "put", "look", "add", "unknown")}
    assert once == {"send": True, "put": False, "look": False, "add": False, "unknown": False}
    assert not Dry().at_most_once("send")
    with pytest.raises(TypeError, match="needs outside=True"):
        tool(idempotent=True)


async def test_what_tools_return_is_what_the_model_reads():
    assert await call("add", '{"amount": 2}') == ToolResult("now 3")
    assert await call("read", "") == ToolResult('{"välue": 1}')
    assert await call("stop", "{}") == ToolResult("none", done=True)
    assert await call("add", '{"amount": 2}', Doubling()) == ToolResult("now 5")


async def test_tools_change_the_state_in_place():
    state = Counter.State(value=1)
    await Counter().call(state, "add", '{"amount": 2}')
    assert state.value == 3


async def test_what_tools_say_can_be_written_down():
    class Odd(Counter):
        name = "odd"

        @tool
        def say(self, state: Counter.State) -> ToolResult:
            return ToolResult("half \ud83d!", done=True)

        @tool
        def refuse(self, state: Counter.State) -> str:
            raise ToolError("half \ud83d!")

    assert await call("say", "", Odd()) == ToolResult("half ?!", done=True)
    assert await call("refuse", "", Odd()) == ToolResult("half ?!", is_error=True)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("subtract", "{}", "no tool 'subtract'. Tools: add, read, stop, crash"),
        ("verify", "{}", "no tool 'verify'"),
        ("add", "{}", '"amount" is a required property'),
        ("add", '{"amount": "2"}', "amount:"),
        ("add", '{"amount": 2, "by": 1}', "by"),
        ("add", "[2]", "object"),
        ("add", "{amount: 2}", "not JSON"),
        ("add", "[" * 100_000, "not JSON"),
        ("stop", '{"reason": "\\ud800"}', "Invalid arguments"),
        ("add", '{"amount": -1}', "Only upwards."),
    ],
)
async def test_bad_calls_are_observations(name, arguments, said):
    result = await call(name, arguments)
    assert result.is_error
    assert said in result.content


async def test_an_observation_does_not_repeat_a_long_mistake():
    long = json.dumps({"amount": "x" * 10_000} | {f"extra{i}": i for i in range(1000)})
    result = await call("add", long)
    assert 'is not of type "integer"' in result.content
    assert len(result.content) < 2000


async def test_other_exceptions_are_the_environments_fault():
    with pytest.raises(RuntimeError, match="broken world"):
        await call("crash", "{}")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.one_of(
        st.text(), json_values.map(json.dumps), st.fixed_dictionaries({"amount": json_values}).map(json.dumps)
    )
)
def test_no_arguments_crash_a_tool(arguments):
    result = asyncio.run(call("add", arguments))
    assert result.is_error or result.content.startswith("now ")


def test_a_verifier_can_read_arguments_as_they_were_checked():
    assert Counter().read_arguments("stop", "{}") == {"reason": "none"}
    with pytest.raises(InvalidArguments):
        Counter().read_arguments("add", "{}")


def test_nested_models_arrive_as_models():
    class Point(BaseModel):
        x: int

    class Board(Counter):
        name = "board"

        @tool
        def put(self, state: Counter.State, at: Point, more: list[Point] = []) -> str:  # noqa: B006
            return f"{at.x} {sum(point.x for point in more)}"

    result = asyncio.run(call("put", '{"at": {"x": 1}, "more": [{"x": 2}, {"x": 3}]}', Board()))
    assert result == ToolResult("1 5")


def test_annotations_may_be_text():
    class Late(Environment):
        name = "late"

        class Task(BaseModel): ...

        class State(BaseModel): ...

        @tool
        def go(self, state: "State", far: "int") -> "str":
            return str(far + 1)

        def verify(self, trajectory: Trajectory, answer: None) -> Reward:
            return Reward(reward=0.0)

    assert asyncio.run(Late().call(Late.State(), "go", '{"far": 1}')) == ToolResult("2")


def _define(method: Any) -> None:
    type("Broken", (Counter,), {"name": "broken", "bad": tool(method)})


def _no_state(self) -> None: ...
def _no_type(self, state, amount) -> None: ...
def _unknown(self, state, amount: "Nowhere") -> None: ...  # noqa: F821
def _many(self, state, *amounts: int) -> None: ...
def _positional(self, state, amount: int, /) -> None: ...


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        (_no_state, "self and the state"),
        (_no_type, "'amount' needs a type"),
        (_unknown, "Nowhere"),
        (_many, "amounts"),
        (_positional, "amount"),
    ],
)
def test_what_can_not_be_a_tool_is_refused_when_it_is_written(method, reason):
    with pytest.raises(ToolDefinitionError, match=reason):
        _define(method)


def test_sessions_are_for_environments_with_a_state():
    class Plain(Environment):
        name = "plain"

        class Task(BaseModel): ...

        def verify(self, trajectory: Trajectory, answer: None) -> Reward:
            return Reward(reward=0.0)

    assert not Plain().has_session
    assert Counter().has_session
    assert Plain().tools() == []
    with pytest.raises(TypeError, match="has no State"):
        Plain().reset(Plain.Task(), 0)


def test_example_tasks_lie_beside_the_module():
    assert Counter().examples().name == "examples.jsonl"
    assert Counter().examples().parent.samefile(__file__.rpartition("/")[0])
