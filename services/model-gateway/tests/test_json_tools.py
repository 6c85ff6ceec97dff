"""Tool calls survive the way through text and back."""

from typing import Any

import jsonschema_rs
import orjson
from hypothesis import given
from hypothesis import strategies as st

from odradek_model_gateway.json_tools import Offer, read_reply, tool_call_id, write_history
from odradek_schemas.messages import FunctionCall, FunctionSpec, Message, ToolCall, ToolSpec

names = st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True)
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)
arguments = st.dictionaries(st.text(), values, max_size=4)


def tool(name: str, **parameters: Any) -> ToolSpec:
    return ToolSpec(function=FunctionSpec(name=name, description=f"Does {name}.", parameters=parameters))


def call(name: str, arguments: dict[str, Any] | str, id: str = "c1") -> ToolCall:
    text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
    return ToolCall(id=id, function=FunctionCall(name=name, arguments=text))


def assistant(content: str | None = None, *calls: ToolCall) -> Message:
    return Message(role="assistant", content=content, tool_calls=list(calls) or None)


ADD = tool(
    "add",
    type="object",
    properties={"amount": {"type": "integer"}},
    required=["amount"],
    additionalProperties=False,
)
NOW = ToolSpec(function=FunctionSpec(name="now"))
BOTH = Offer.of([ADD, NOW])


@given(names, arguments, st.text())
def test_a_call_written_as_text_reads_back_as_itself(
    name: str, arguments: dict[str, Any], call_id: str
) -> None:
    offer = Offer.of([tool(name)])
    (written,) = write_history([assistant(None, call(name, arguments))], offer)[1:]
    assert written.tool_calls is None
    message, finish_reason = read_reply(written, "stop", call_id, offer)
    assert finish_reason == "tool_calls"
    assert message.content is None
    assert message.tool_calls is not None
    (read,) = message.tool_calls
    assert (read.function.name, orjson.loads(read.function.arguments)) == (name, arguments)
    assert read.id == tool_call_id(call_id, 0)


@given(st.text(), st.sampled_from(["stop", "length"]))
def test_an_answer_written_as_text_reads_back_as_itself(text: str, finish_reason: str) -> None:
    (written,) = write_history([assistant(text)], BOTH)[1:]
    assert read_reply(written, finish_reason, "c", BOTH) == (assistant(text), finish_reason)


@given(st.text())
def test_any_other_text_stays_as_it_is(text: str) -> None:
    said = assistant(f"! {text}")
    assert read_reply(said, "stop", "c", BOTH) == (said, "stop")


def test_json_is_no_call_where_no_function_was_offered() -> None:
    said = assistant('{"name": "add", "arguments": {}}')
    assert read_reply(said, "stop", "c", Offer.of([ADD], "none")) == (said, "stop")


@given(st.text(), st.integers(0, 99))
def test_tool_call_ids_repeat_differ_and_are_short(call_id: str, index: int) -> None:
    assert tool_call_id(call_id, index) == tool_call_id(call_id, index)
    assert tool_call_id(call_id, index) != tool_call_id(call_id, index + 1)
    assert len(tool_call_id(call_id, index)) <= 40


def accepts(offer: Offer, reply: Any) -> bool:
    response_format: Any = offer.reply_format
    return jsonschema_rs.is_valid(response_format["json_schema"]["schema"], reply)


def test_the_reply_is_bound_to_the_functions_or_an_answer() -> None:
    assert accepts(BOTH, {"name": "add", "arguments": {"amount": 3}})
    assert accepts(BOTH, {"name": "now", "arguments": {}})
    assert accepts(BOTH, {"answer": "three"})
    assert not accepts(BOTH, {"name": "add", "arguments": {"amount": "3"}})
    assert not accepts(BOTH, {"name": "now", "arguments": {"amount": 3}})
    assert not accepts(BOTH, {"name": "other", "arguments": {}})
    assert not accepts(BOTH, {"answer": "three", "name": "now"})


def test_tool_choice_narrows_what_is_offered() -> None:
    required = Offer.of([ADD, NOW], "required")
    assert accepts(required, {"name": "now", "arguments": {}})
    assert not accepts(required, {"answer": "three"})
    assert "answer" not in required.instructions
    named = Offer.of([ADD, NOW], {"type": "function", "function": {"name": "now"}})
    assert accepts(named, {"name": "now", "arguments": {}})
    assert not accepts(named, {"name": "add", "arguments": {"amount": 3}})
    assert Offer.of([ADD, NOW], "none").functions == []


def test_definitions_of_two_functions_do_not_mix() -> None:
    def uses(name: str, kind: str) -> ToolSpec:
        return tool(
            name,
            type="object",
            properties={"x": {"$ref": "#/$defs/X"}},
            required=["x"],
            **{"$defs": {"X": {"type": "array", "items": {"$ref": "#/$defs/Y"}}, "Y": {"type": kind}}},
        )

    offer = Offer.of([uses("a", "integer"), uses("b", "string")])
    assert accepts(offer, {"name": "a", "arguments": {"x": [1]}})
    assert accepts(offer, {"name": "b", "arguments": {"x": ["1"]}})
    assert not accepts(offer, {"name": "a", "arguments": {"x": ["1"]}})


def test_a_conversation_becomes_text_with_one_system_message_and_no_tool_messages() -> None:
    history = [
        Message(role="system", content="Be brief."),
        Message(role="developer", content="Be kind."),
        Message(role="user", content="add 1, then 2"),
        assistant("Well.", call("add", {"amount": 1}, "c1"), call("add", "{broken", "c2")),
        Message(role="tool", tool_call_id="c1", content="ok"),
        Message(role="tool", tool_call_id="c2", content="bad arguments"),
        assistant("Done."),
    ]
    system, user, calls, results, answer = write_history(history, BOTH)
    assert system.role == "system"
    assert system.text.startswith("Be brief.\n\nBe kind.\n\n")
    assert '"name":"add"' in system.text
    assert user == history[2]
    assert (
        calls.text == 'Well.\n{"name":"add","arguments":{"amount":1}}\n{"name":"add","arguments":"{broken"}'
    )
    assert (results.role, results.text) == ("user", "Result of add: ok\nResult of add: bad arguments")
    assert answer.text == '{"answer":"Done."}'


def test_without_tools_nothing_is_added() -> None:
    history = [Message(role="user", content="hi"), assistant("hello")]
    assert write_history(history, Offer.of([])) == history
