"""Responses API requests and recorded outputs as chat messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.dialects.core import DialectError
from odradek.dialects.nemo_gym import read_rollout, read_usage
from odradek.dialects.responses import read_output, read_request


def text(content):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": content}]}


def thought(content):
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": content}]}


def called(name, call_id, arguments="{}"):
    return {"type": "function_call", "name": name, "call_id": call_id, "arguments": arguments}


def result(call_id, output):
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def outline(messages):
    return [
        (
            m.role,
            m.content,
            m.reasoning_content,
            [call.id for call in m.tool_calls or []] or m.tool_call_id,
        )
        for m in messages
    ]


def test_text_is_one_user_message():
    request = read_request({"input": "Hi", "instructions": "Be short."})
    assert outline(request.messages) == [("system", "Be short.", None, None), ("user", "Hi", None, None)]


def test_a_conversation_keeps_roles_and_turns():
    request = read_request(
        {
            "input": [
                {"role": "developer", "content": "Rules"},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Add"}]},
                thought("Hm"),
                text("Let me see."),
                called("add", "c1"),
                called("add", "c2"),
                result("c1", "1"),
                result("c2", "2"),
                {"role": "assistant", "content": "Done"},
                {"role": "user", "content": "Thanks"},
            ]
        }
    )
    assert outline(request.messages) == [
        ("developer", "Rules", None, None),
        ("user", "Add", None, None),
        ("assistant", "Let me see.", "Hm", ["c1", "c2"]),
        ("tool", "1", None, "c1"),
        ("tool", "2", None, "c2"),
        ("assistant", "Done", None, None),
        ("user", "Thanks", None, None),
    ]


def test_outputs_end_replies():
    output = [
        called("a", "c1"),
        result("c1", "1"),
        called("a", "c2"),
        result("c2", "2"),
        text("x"),
        text("y"),
    ]
    assert outline(read_output(output)) == [
        ("assistant", None, None, ["c1"]),
        ("tool", "1", None, "c1"),
        ("assistant", None, None, ["c2"]),
        ("tool", "2", None, "c2"),
        ("assistant", "xy", None, None),
    ]


def test_reasoning_begins_a_reply():
    output = [thought("one"), called("a", "c1"), thought("two"), called("a", "c2")]
    assert outline(read_output(output)) == [
        ("assistant", None, "one", ["c1"]),
        ("assistant", None, "two", ["c2"]),
    ]


def test_nulls_and_unknown_fields_are_read_past():
    messages = read_output(
        [
            {"type": "reasoning", "summary": None, "content": None, "encrypted_content": "x"},
            {"type": "message", "role": "assistant", "content": None, "status": None},
            {"type": "function_call", "id": "fc_1", "call_id": None, "name": "a", "arguments": None},
        ]
    )
    assert outline(messages) == [("assistant", None, None, ["fc_1"])]
    assert messages[0].tool_calls[0].function.arguments == ""


def test_refusals_are_kept_apart():
    [message] = read_output([{"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}])
    assert (message.content, message.refusal) == (None, "No.")


def test_images_and_files_become_parts():
    content = [
        {"type": "input_text", "text": "Look"},
        {"type": "input_image", "image_url": "data:x", "detail": "low", "file_id": None},
        {"type": "input_file", "file_id": "f1"},
    ]
    [message] = read_request({"input": [{"role": "user", "content": content}]}).messages
    assert message.content == [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "data:x", "detail": "low"}},
        {"type": "file", "file": {"file_id": "f1"}},
    ]
    assert message.text == "Look"


def test_flat_and_nested_tools():
    flat = {
        "type": "function",
        "name": "a",
        "parameters": {"type": "object"},
        "strict": True,
        "description": None,
    }
    request = read_request({"input": "Hi", "tools": [flat, {"type": "function", "function": {"name": "b"}}]})
    assert [spec.function.name for spec in request.tools] == ["a", "b"]
    assert request.tools[0].function.parameters == {"type": "object"}
    assert request.tools[0].function.strict is True


def test_sampling_takes_chat_names():
    sampling = read_request(
        {
            "input": "Hi",
            "temperature": 0.5,
            "top_p": 0.9,
            "max_output_tokens": 7,
            "parallel_tool_calls": False,
            "tool_choice": {"type": "function", "name": "a"},
            "text": {"format": {"type": "json_schema", "name": "n", "schema": {}, "strict": None}},
        }
    ).sampling
    assert sampling.model_dump(exclude_none=True) == {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 7,
        "parallel_tool_calls": False,
        "tool_choice": {"type": "function", "function": {"name": "a"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
    }


def test_nothing_asked_is_nothing_set():
    parameters = {
        "input": "Hi",
        "temperature": None,
        "tool_choice": None,
        "text": {"format": {"type": "text"}},
    }
    assert read_request(parameters).sampling.model_dump(exclude_none=True) == {}


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"input": 1}, "input"),
        ({"input": ["x"]}, "input.0"),
        ({"input": [{"type": "web_search_call"}]}, "input.0.type"),
        ({"input": [{"role": "tool", "content": "x"}]}, "input.0.role"),
        ({"input": [{"role": "user", "content": 1}]}, "input.0.content"),
        ({"input": [{"role": "user", "content": [{"type": "video"}]}]}, "input.0.content.0.type"),
        ({"input": [called("", "c")]}, "input.0.name"),
        ({"input": [{"type": "function_call", "name": "a"}]}, "input.0.call_id"),
        ({"input": [result(None, "x")]}, "input.0.call_id"),
        ({"tools": {}}, "tools"),
        ({"tools": [{"type": "web_search"}]}, "tools.0.type"),
        ({"tools": [{"type": "function"}]}, "tools.0"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
    ],
)
def test_what_can_not_be_read_is_named(parameters, field):
    with pytest.raises(DialectError) as caught:
        read_request(parameters)
    assert caught.value.field == field


def test_a_recorded_rollout():
    rollout = read_rollout(
        {
            "responses_create_params": {"input": "Hi", "tool_choice": None},
            "response": {
                "model": "m",
                "output": [text("Hello")],
                "usage": {"prompt_tokens": 3, "completion_tokens": 2},
            },
            "reward": 1,
            "reward_components": {"style": 0.5, "words": "many"},
            "mask_sample": True,
            "failure_kind": "timeout",
        }
    )
    assert [m.text for m in rollout.replies] == ["Hello"]
    assert (rollout.reward, rollout.components, rollout.masked) == (1.0, {"style": 0.5}, True)
    assert (rollout.failure_kind, rollout.model, rollout.usage.total_tokens) == ("timeout", "m", 5)


def test_both_forms_of_usage():
    responses = read_usage(
        {
            "input_tokens": 3,
            "input_tokens_details": {"cached_tokens": 1},
            "output_tokens": 4,
            "output_tokens_details": {"reasoning_tokens": 2},
        }
    )
    chat = read_usage(
        {
            "prompt_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": 1},
            "completion_tokens": 4,
            "completion_tokens_details": {"reasoning_tokens": 2},
        }
    )
    assert responses == chat
    assert responses.model_dump() == {
        "prompt_tokens": 3,
        "completion_tokens": 4,
        "cached_tokens": 1,
        "reasoning_tokens": 2,
    }
    assert read_usage(None).total_tokens == 0


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.sampled_from(["message", "user", "assistant", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "role", "content", "text", "summary", "name", "call_id", "output", "arguments"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=4))
def test_any_items_are_read_or_refused(items):
    try:
        messages = read_output(items)
    except DialectError:
        return
    assert all(message.role in ("assistant", "tool", "user") for message in messages)
