"""What servers really send: complete, sparse, odd, and broken."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.dialects import chat
from odradek.dialects.core import Reply, tool_call_id
from odradek_model_gateway.failures import CallError
from odradek_model_gateway.replies import read_reply
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import FunctionCall, Message, TokenRecord, ToolCall, Usage


def read(choice: dict[str, Any], **response: Any) -> Reply:
    return read_reply(orjson.dumps({"choices": [choice], **response}), "call", chat)


def said(**message: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", **message}}


def test_all_that_a_full_response_tells() -> None:
    reply = read(
        {
            **said(content="hi", reasoning_content="hm", refusal=None, annotations=[], audio=None),
            "finish_reason": "stop",
            "index": 0,
        },
        usage={
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 8, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
        system_fingerprint="x",
    )
    assert reply.message == Message(role="assistant", content="hi", reasoning_content="hm")
    assert reply.usage == Usage(prompt_tokens=10, completion_tokens=5, cached_tokens=8, reasoning_tokens=3)
    assert (reply.finish_reason, reply.tokens) == ("stop", None)


def test_the_least_that_a_server_may_send() -> None:
    reply = read({**said(content="hi", tool_calls=[]), "logprobs": None}, usage=None)
    assert reply == Reply(Message(role="assistant", content="hi"), "stop", Usage(), None)


def test_reasoning_by_its_newer_name() -> None:
    assert read(said(content="hi", reasoning="hm")).message.reasoning_content == "hm"


def test_tool_calls_keep_their_ids_and_arguments_as_written() -> None:
    function = {"name": "add", "arguments": '{"a": 1, broken'}
    reply = read(said(content=None, tool_calls=[{"id": "x", "type": "function", "function": function}]))
    assert reply.message.tool_calls == [ToolCall(id="x", function=FunctionCall(**function))]


def test_tool_calls_without_ids_of_their_own_get_one_each() -> None:
    function = {"name": "add", "arguments": {"a": 1}}
    calls = [
        {"id": "x", "function": function},
        {"id": "x", "function": function},
        {"function": {"name": "now"}},
    ]
    read_calls = read(said(tool_calls=calls)).message.tool_calls or []
    assert [call.id for call in read_calls] == ["x", tool_call_id("call", 1), tool_call_id("call", 2)]
    assert [call.function.arguments for call in read_calls] == ['{"a":1}', '{"a":1}', "{}"]


def test_token_ids_beside_the_choice() -> None:
    logprobs = {"content": [{"token": "h", "logprob": -0.5}, {"token": "i", "logprob": -0.25}]}
    reply = read({**said(content="hi"), "token_ids": [7, 8], "logprobs": logprobs}, prompt_token_ids=[1, 2])
    assert reply.tokens == TokenRecord(
        prompt_token_ids=[1, 2], completion_token_ids=[7, 8], logprobs=[-0.5, -0.25]
    )


def test_token_ids_within_the_logprobs() -> None:
    logprobs = {"content": [{"id": 7, "logprob": -0.5}]}
    reply = read({**said(content="hi"), "logprobs": logprobs})
    assert reply.tokens == TokenRecord(completion_token_ids=[7], logprobs=[-0.5])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "after 0 bytes"),
        (b'{"choices": [{"message": {"role": "assi', "after 39 bytes"),
        (b"<html>busy</html>", "can't be read"),
        (b"[]", "it is not an object"),
        (b'{"choices": null}', "no choice"),
        (b'{"error": {"message": "overloaded"}}', "overloaded"),
        (b'{"choices": {"a": 1}}', "choices: must be a list"),
        (b'{"choices": [{"message": {}}], "usage": 3}', "usage"),
        (b'{"choices": [3]}', "choices.0"),
        (b'{"choices": [{"message": null}]}', "choices.0.message"),
        (b'{"choices": [{"message": {"content": 3}}]}', "content"),
        (b'{"choices": [{"message": {"content": "", "tool_calls": [{"function": {}}]}}]}', "name"),
        (b'{"choices": [{"message": {"content": ""}}], "usage": {"prompt_tokens": "many"}}', "prompt_tokens"),
        (b'{"choices": [{"message": {"content": ""}, "token_ids": ["a"]}]}', "completion_token_ids"),
    ],
)
def test_what_is_no_chat_completion_is_typed_and_explained(body: bytes, told: str) -> None:
    with pytest.raises(CallError, match=told) as caught:
        read_reply(body, "call", chat)
    assert caught.value.failure.kind == FailureKind.MALFORMED_REPLY


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "content",
                    "tool_calls",
                    "function",
                    "usage",
                    "logprobs",
                    "token_ids",
                    "id",
                ]
            ),
            inner,
        )
    ),
    max_leaves=20,
)


@given(json_values)
def test_no_json_breaks_the_reader_otherwise(value: Any) -> None:
    for body in (value, {"choices": [{"message": value}]}, {"choices": [{"message": {}, "logprobs": value}]}):
        try:
            read_reply(orjson.dumps(body), "call", chat)
        except CallError:
            continue
