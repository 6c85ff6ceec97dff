"""What is said in one dialect and read again is what was meant."""

from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from conversations import replies, requests
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from odradek.dialects import chat, messages, responses
from odradek_schemas.messages import Message

GOLDEN = Path(__file__).parent / "golden"
DIALECTS = {"chat": chat, "responses": responses, "messages": messages}
NAMED = pytest.mark.parametrize("name", DIALECTS)


def golden(name):
    return orjson.loads((GOLDEN / f"conversation.{name}.json").read_bytes())


def through_json(body):
    return orjson.loads(to_json(body, exclude_none=True))


@NAMED
def test_a_conversation_is_written_as_the_dialect_has_it(name):
    """The files were written by hand, from the APIs' references."""
    request = chat.read_request(golden("chat"))
    assert through_json(DIALECTS[name].write_request(request, "m")) == golden(name)


@NAMED
def test_a_conversation_of_a_dialect_is_read_as_what_it_means(name):
    """What Messages has no word for: the name of a schema, and reasoning that nobody signed."""
    meant = chat.read_request(golden("chat"))
    if name == "messages":
        plain = [message.model_copy(update={"reasoning_content": None}) for message in meant.messages]
        meant = meant.model_copy(update={"messages": plain})
    assert DIALECTS[name].read_request(golden(name)) == meant


def test_instructions_in_the_middle_of_messages_are_read():
    """Agents that speak Messages put their surroundings there."""
    turns = [
        {"role": "user", "content": "Go."},
        {"role": "system", "content": [{"type": "text", "text": "You are in /w."}]},
    ]
    read = messages.read_request({"model": "m", "max_tokens": 9, "messages": turns}).messages
    assert [(message.role, message.text) for message in read] == [
        ("user", "Go."),
        ("system", "You are in /w."),
    ]


@NAMED
@given(request=requests())
def test_a_request_survives(name, request):
    dialect = DIALECTS[name]
    assert dialect.read_request(through_json(dialect.write_request(request, "m"))) == request


@given(request=requests(effort=st.sampled_from([None, "low", "medium", "high"])))
def test_effort_survives_where_there_is_room_to_think(request):
    most = {"max_tokens": 100_000}
    request = request.model_copy(update={"sampling": request.sampling.model_copy(update=most)})
    for dialect in DIALECTS.values():
        again = dialect.read_request(through_json(dialect.write_request(request, "m")))
        assert again.sampling.reasoning_effort == request.sampling.reasoning_effort


@NAMED
@given(reply=replies())
def test_a_reply_survives(name, reply):
    """Messages counts reasoning among the output and does not say how much it was; nobody signed its thinking."""
    dialect = DIALECTS[name]
    again = dialect.read_reply(through_json(dialect.write_reply(reply, "r1", "m", 0)), "call")
    if name == "messages":
        reply = replace(reply, usage=reply.usage.model_copy(update={"reasoning_tokens": 0}))
        again = replace(again, message=again.message.model_copy(update={"reasoning_details": None}))
    assert again == reply


@pytest.mark.parametrize(
    ("name", "details"),
    [
        (
            "messages",
            [
                {"type": "thinking", "thinking": "Hm", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "b3BhcXVl"},
            ],
        ),
        ("responses", [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "b3BhcXVl"}]),
        ("chat", [{"type": "reasoning.encrypted", "data": "b3BhcXVl", "id": "r1"}]),
    ],
)
def test_sealed_reasoning_goes_back_as_it_came(name, details):
    """Providers refuse a conversation whose reasoning was changed."""
    said = Message(role="assistant", content="So.", reasoning_details=details)
    asked = [Message(role="user", content="Why?"), said]
    request = chat.read_request({"messages": [m.model_dump(exclude_none=True) for m in asked]})
    dialect = DIALECTS[name]
    again = dialect.read_request(through_json(dialect.write_request(request, "m")))
    assert again.messages[1].reasoning_details == details
