"""The official SDKs as clients: each dialect, streamed and not, synchronous and not."""

import asyncio
import base64
from dataclasses import dataclass
from typing import Any

import anthropic
import openai
import orjson
import pytest
from front_lab import Conductor, Front

from odradek_schemas.events import ModelCallCompleted
from odradek_schemas.messages import Message, Usage

pytestmark = pytest.mark.kafka

PICTURE = base64.b64encode(b"\x89PNG\r\n").decode()
CALLS = [("c1", "zoom", {"by": 8}), ("c2", "pan", {"x": -1})]
PARAMETERS = {"type": "object", "properties": {"by": {"type": "integer"}}}

CHAT_ASKED: Any = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Look."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is it?"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
            ],
        },
    ],
    "tools": [{"type": "function", "function": {"name": "zoom", "parameters": PARAMETERS}}],
}
RESPONSES_ASKED: Any = {
    "model": "m",
    "instructions": "Look.",
    "input": [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is it?"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}"},
            ],
        }
    ],
    "tools": [{"type": "function", "name": "zoom", "parameters": PARAMETERS}],
}
MESSAGES_ASKED: Any = {
    "model": "m",
    "max_tokens": 100,
    "system": "Look.",
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is it?"},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": PICTURE},
                },
            ],
        }
    ],
    "tools": [{"name": "zoom", "input_schema": PARAMETERS}],
}


@dataclass
class Seen:
    """What a client makes of a reply."""

    text: str
    thought: str
    calls: list[tuple[str, str, Any]]
    stopped: str | None
    prompt: int
    cached: int
    given: int


def chat_seen(text: str, thought: str, calls: Any, stopped: Any, usage: Any) -> Seen:
    called = [(call.id, call.function.name, orjson.loads(call.function.arguments)) for call in calls]
    cached = usage.prompt_tokens_details.cached_tokens
    return Seen(text, thought, called, stopped, usage.prompt_tokens, cached, usage.completion_tokens)


def chat_whole(completion: Any) -> Seen:
    choice = completion.choices[0]
    message = choice.message
    return chat_seen(
        message.content, message.reasoning_content, message.tool_calls, choice.finish_reason, completion.usage
    )


def chat_pieces(chunks: list[Any]) -> Seen:
    """Put together as a client does."""
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    calls: dict[int, Any] = {}
    for delta in deltas:
        for piece in delta.tool_calls or []:
            if piece.index in calls:
                calls[piece.index].function.arguments += piece.function.arguments
            else:
                calls[piece.index] = piece
    text = "".join(delta.content or "" for delta in deltas)
    thought = "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas)
    (stopped,) = [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason]
    return chat_seen(text, thought, calls.values(), stopped, chunks[-1].usage)


def responses_seen(response: Any) -> Seen:
    calls = [
        (item.call_id, item.name, orjson.loads(item.arguments))
        for item in response.output
        if item.type == "function_call"
    ]
    thoughts = [part.text for item in response.output if item.type == "reasoning" for part in item.content]
    usage = response.usage
    cached = usage.input_tokens_details.cached_tokens
    stopped = "tool_calls" if response.status == "completed" else response.status
    return Seen(
        response.output_text,
        "".join(thoughts),
        calls,
        stopped,
        usage.input_tokens,
        cached,
        usage.output_tokens,
    )


def messages_seen(message: Any) -> Seen:
    blocks = {
        kind: [b for b in message.content if b.type == kind] for kind in ("text", "thinking", "tool_use")
    }
    calls = [(block.id, block.name, block.input) for block in blocks["tool_use"]]
    usage = message.usage
    return Seen(
        "".join(block.text for block in blocks["text"]),
        "".join(block.thinking for block in blocks["thinking"]),
        calls,
        {"tool_use": "tool_calls"}.get(message.stop_reason),
        usage.input_tokens + usage.cache_read_input_tokens,
        usage.cache_read_input_tokens,
        usage.output_tokens,
    )


async def of_sync(url: str, token: str, dialect: str, streamed: bool) -> Seen:
    return await asyncio.to_thread(_ask_sync, url, token, dialect, streamed)


def _ask_sync(url: str, token: str, dialect: str, streamed: bool) -> Seen:
    ai = openai.OpenAI(base_url=f"{url}/v1", api_key=token)
    claude = anthropic.Anthropic(base_url=url, api_key=token)
    match dialect, streamed:
        case "chat", False:
            return chat_whole(ai.chat.completions.create(**CHAT_ASKED))
        case "chat", True:
            options: Any = {"stream": True, "stream_options": {"include_usage": True}}
            return chat_pieces(list(ai.chat.completions.create(**CHAT_ASKED, **options)))
        case "responses", False:
            return responses_seen(ai.responses.create(**RESPONSES_ASKED))
        case "responses", True:
            with ai.responses.stream(**RESPONSES_ASKED) as stream:
                return responses_seen(stream.get_final_response())
        case "messages", False:
            return messages_seen(claude.messages.create(**MESSAGES_ASKED))
    with claude.messages.stream(**MESSAGES_ASKED) as events:
        return messages_seen(events.get_final_message())


async def of_async(url: str, token: str, dialect: str, streamed: bool) -> Seen:
    ai = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=token)
    claude = anthropic.AsyncAnthropic(base_url=url, api_key=token)
    match dialect, streamed:
        case "chat", False:
            return chat_whole(await ai.chat.completions.create(**CHAT_ASKED))
        case "chat", True:
            options: Any = {"stream": True, "stream_options": {"include_usage": True}}
            chunks = await ai.chat.completions.create(**CHAT_ASKED, **options)
            return chat_pieces([chunk async for chunk in chunks])
        case "responses", False:
            return responses_seen(await ai.responses.create(**RESPONSES_ASKED))
        case "responses", True:
            async with ai.responses.stream(**RESPONSES_ASKED) as stream:
                return responses_seen(await stream.get_final_response())
        case "messages", False:
            return messages_seen(await claude.messages.create(**MESSAGES_ASKED))
    async with claude.messages.stream(**MESSAGES_ASKED) as events:
        return messages_seen(await events.get_final_message())


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", ["chat", "responses", "messages"])
@pytest.mark.parametrize("ask", [of_sync, of_async])
async def test_a_client_gets_all_of_a_reply_and_the_log_has_the_call(
    front: Front, conductor: Conductor, ask: Any, dialect: str, streamed: bool
) -> None:
    seen = await ask(front.url, front.token(temperature=0.25), dialect, streamed)
    assert seen == Seen("Again.", "Closer.", CALLS, "tool_calls", 20, 4, 7)

    (body,) = conductor.asked
    assert body["model"] == "upstream-m"
    assert body["temperature"] == 0.25
    assert body.get("stream", False) is streamed
    assert [message["role"] for message in body["messages"]] == ["system", "user"]

    (event,) = await front.logged()
    assert isinstance(event, ModelCallCompleted)
    assert event.call_id.startswith("run/1/0/1/2/http-")
    assert (event.rollout_id, event.model, event.finish_reason) == ("run/1/0", "m", "tool_calls")
    assert event.usage == Usage(prompt_tokens=20, completion_tokens=7, cached_tokens=4, reasoning_tokens=3)
    assert [
        (c.id, c.function.name, orjson.loads(c.function.arguments)) for c in event.message.tool_calls or []
    ] == CALLS
    asked = event.asked
    assert asked is not None
    assert (asked.dialect, asked.streamed, asked.sampling.temperature) == (dialect, streamed, 0.25)
    assert asked.messages[0] == Message(role="system", content=asked.messages[0].content)
    assert (asked.messages[0].text, asked.messages[1].text) == ("Look.", "What is it?")
    assert asked.messages[1].content[1]["image_url"]["url"].endswith(PICTURE)  # type: ignore[index,call-overload]
    assert [tool.function.name for tool in asked.tools] == ["zoom"]


async def test_pieces_come_while_the_upstream_still_speaks(front: Front, conductor: Conductor) -> None:
    """Caught: a stream that is collected first."""
    conductor.gate.clear()
    ai = openai.AsyncOpenAI(base_url=f"{front.url}/v1", api_key=front.token())
    chunks = await ai.chat.completions.create(**CHAT_ASKED, stream=True)
    heard = ""
    async for chunk in chunks:
        heard += (
            chunk.choices[0].delta.content or getattr(chunk.choices[0].delta, "reasoning_content", None) or ""
        )
        if heard == "Closer.":
            assert await front.logged() == []
            conductor.gate.set()
    assert heard == "Closer.Again."


async def test_a_stream_ends_only_when_the_call_is_in_the_log(front: Front) -> None:
    claude = anthropic.AsyncAnthropic(base_url=front.url, api_key=front.token())
    async with claude.messages.stream(**MESSAGES_ASKED) as events:
        async for event in events:
            if event.type == "message_stop":
                assert len(await front.logged()) == 1
                return
    pytest.fail("the stream had no end")
