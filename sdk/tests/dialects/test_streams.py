"""A reply that is streamed is the reply that was meant, however it is cut."""

from dataclasses import replace

import orjson
import pytest
from conversations import replies
from hypothesis import given
from hypothesis import strategies as st

from odradek.dialects import chat, messages, responses
from odradek.dialects.core import DialectError, Reply
from odradek.dialects.deltas import CallDelta, Delta, ReplyBuilder, deltas_of
from odradek.dialects.responses.tools import read_forms
from odradek.dialects.sse import EventParser, ServerEvent, write_event
from odradek_schemas.messages import FunctionCall, Message, ToolCall, Usage

DIALECTS = {"chat": chat, "responses": responses, "messages": messages}
NAMED = pytest.mark.parametrize("name", DIALECTS)


def in_pieces(reply, cut):
    """The deltas of a reply, its texts and arguments cut after each `cut` letters."""
    for delta in deltas_of(reply):
        if delta.call is not None:
            yield Delta(call=replace(delta.call, arguments=""))
            yield from (
                Delta(call=CallDelta(delta.call.index, arguments=p)) for p in cuts(delta.call.arguments, cut)
            )
        elif delta.text or delta.reasoning:
            name = "text" if delta.text else "reasoning"
            yield from (Delta(**{name: piece}) for piece in cuts(delta.text or delta.reasoning, cut))
        else:
            yield delta


def cuts(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


def through(name, deltas):
    """Written by one side and read by the other."""
    dialect = DIALECTS[name]
    writer, reader = dialect.StreamWriter("r1", "m", 0), dialect.StreamReader()
    builder = ReplyBuilder("call")
    for delta in deltas:
        for event in writer.write(delta):
            for again in reader.read(orjson.loads(orjson.dumps(event))):
                builder.add(again)
    assert builder.finished
    return builder.reply()


@NAMED
@given(reply=replies(), cut=st.integers(1, 9))
def test_what_is_streamed_arrives(name, reply, cut):
    """Messages counts reasoning among the output and does not say how much it was; nobody signed its thinking."""
    again = through(name, in_pieces(reply, cut))
    if name == "messages":
        reply = replace(reply, usage=reply.usage.model_copy(update={"reasoning_tokens": 0}))
        again = replace(again, message=again.message.model_copy(update={"reasoning_details": None}))
    assert again == reply


@given(reply=replies())
def test_the_end_of_a_responses_stream_is_the_whole_response(reply):
    """Its last event holds what a client that did not stream gets."""
    writer = responses.StreamWriter("r1", "m", 7)
    *_before, last = (event for delta in deltas_of(reply) for event in writer.write(delta))
    assert without_status(last["response"]) == without_status(responses.write_reply(reply, "r1", "m", 7))


def without_status(response):
    items = [{k: v for k, v in item.items() if k != "status"} for item in response["output"]]
    return {**response, "output": items}


@given(reply=replies())
def test_events_of_responses_are_numbered_without_a_gap(reply):
    writer = responses.StreamWriter("r1", "m", 7)
    numbers = [event["sequence_number"] for delta in deltas_of(reply) for event in writer.write(delta)]
    assert numbers == list(range(len(numbers)))


SEALED = {
    "messages": {"type": "thinking", "thinking": "Hm", "signature": "c2ln"},
    "responses": {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "b3BhcXVl"},
    "chat": {"type": "reasoning.encrypted", "data": "b3BhcXVl"},
}


@NAMED
def test_sealed_reasoning_is_streamed_whole(name):
    thought = "Hm" if name == "messages" else None
    message = Message(
        role="assistant", content="So.", reasoning_content=thought, reasoning_details=[SEALED[name]]
    )
    reply = Reply(message, "stop", Usage(prompt_tokens=1))
    assert through(name, deltas_of(reply)) == reply


def test_a_custom_tools_text_is_streamed_as_the_client_knows_it():
    tools = [{"type": "custom", "name": "patch", "format": {"type": "grammar", "definition": "start: X"}}]
    call = ToolCall(id="c1", function=FunctionCall(name="patch", arguments='{"input":"*** Begin"}'))
    reply = Reply(Message(role="assistant", tool_calls=[call]), "tool_calls")
    writer = responses.StreamWriter("r1", "m", 0, read_forms(tools))
    events = [event for delta in in_pieces(reply, 3) for event in writer.write(delta)]
    told = [event["delta"] for event in events if event["type"] == "response.custom_tool_call_input.delta"]
    assert "".join(told) == "*** Begin"
    assert events[-1]["response"]["output"][0]["input"] == "*** Begin"


@pytest.mark.parametrize("name", ["messages", "responses"])
def test_mixed_calls_are_refused_where_they_cant_be_said(name):
    """Caught: arguments of one call in another."""
    writer = DIALECTS[name].StreamWriter("r1", "m", 0)
    begun = [Delta(call=CallDelta(0, "a", "f")), Delta(call=CallDelta(1, "b", "f"))]
    for delta in begun:
        list(writer.write(delta))
    with pytest.raises(DialectError, match="mixed"):
        list(writer.write(Delta(call=CallDelta(0, arguments="{}"))))


def test_a_response_that_fails_in_mid_stream_says_why():
    failed = {
        "type": "response.failed",
        "response": {"error": {"code": "server_error", "message": "overloaded"}},
    }
    with pytest.raises(DialectError, match="overloaded"):
        list(responses.StreamReader().read(failed))


def test_token_ids_add_up_over_chunks():
    builder = ReplyBuilder("call")
    chunks = [
        {"prompt_token_ids": [1, 2], "choices": [{"delta": {"role": "assistant", "content": ""}}]},
        {
            "choices": [
                {"delta": {"content": "a"}, "token_ids": [3], "logprobs": {"content": [{"logprob": -0.5}]}}
            ]
        },
        {
            "choices": [
                {
                    "delta": {"content": "b"},
                    "token_ids": [4, 5],
                    "logprobs": {"content": [{"logprob": -1.0}, {"logprob": -2.0}]},
                }
            ]
        },
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 2, "completion_tokens": 3}},
    ]
    for chunk in chunks:
        for delta in chat.StreamReader().read(chunk):
            builder.add(delta)
    tokens = builder.reply().tokens
    assert tokens is not None
    assert (tokens.prompt_token_ids, tokens.completion_token_ids) == ([1, 2], [3, 4, 5])
    assert tokens.logprobs == [-0.5, -1.0, -2.0]


def test_a_stream_that_stops_is_not_finished():
    builder = ReplyBuilder("call")
    builder.add(Delta(text="half"))
    assert not builder.finished


EVENTS = st.lists(
    st.builds(
        ServerEvent,
        st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1, max_size=9),
        st.sampled_from(["message", "ping"]),
    ),
    max_size=5,
)


@given(events=EVENTS, size=st.integers(1, 20))
def test_events_are_read_however_the_bytes_are_cut(events, size):
    wire = b"".join(write_event(event.data.encode(), event.name) for event in events)
    parser = EventParser()
    chunks = [wire[at : at + size] for at in range(0, len(wire), size)]
    assert [event for chunk in chunks for event in parser.feed(chunk)] == events


def test_comments_and_other_line_ends_are_read_past():
    parser = EventParser()
    events = list(parser.feed(b": OPENROUTER PROCESSING\r\n\r\ndata: a\r\ndata: b\r\n\r\nevent: x\n\n"))
    assert events == [ServerEvent("a\nb")]
