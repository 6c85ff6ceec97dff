"""Clients and upstreams that are odd, slow or hostile: each gets an error of its own, and nobody else notices."""

import asyncio
import json
from typing import Any

import orjson
import pytest
from aiohttp import ClientSession, ClientTimeout
from front_lab import (
    ANSWER,
    ASKED,
    PIECES,
    PROGRAM,
    Conductor,
    Front,
    StartFront,
    completed,
    end,
    post,
    until,
)

from odradek_model_gateway.front.calls import MOST_UNDER_WAY
from odradek_schemas.events import ModelCallCompleted, ModelCallFailed
from odradek_schemas.failures import FailureKind

pytestmark = pytest.mark.kafka

DEEP = "[" * 300 + "]" * 300


def called(*pieces: Any) -> list[Any]:
    """A stream of pieces of calls."""
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]} for piece in pieces]
    return [PIECES[0], *chunks, *PIECES[-2:]]


async def streamed(front: Front, path: str = "/v1/chat/completions", **headers: str) -> list[Any]:
    """The events of a streamed answer."""
    sent = {
        "Authorization": f"Bearer {front.token()}",
        **{n.replace("_", "-"): v for n, v in headers.items()},
    }
    asked = {**ASKED, "stream": True, "max_tokens": 5, "input": "hi"}
    async with (
        ClientSession(timeout=ClientTimeout(total=20)) as session,
        session.post(front.url + path, headers=sent, json=asked) as response,
    ):
        lines = (await response.read()).decode().split("\n")
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [orjson.loads(line) for line in data if line != "[DONE]"]


def told_calls(chunks: list[Any]) -> list[tuple[str, str, str]]:
    """The calls as a client that adds pieces up has them: id, name, arguments."""
    calls: dict[int, list[str]] = {}
    for chunk in chunks:
        for choice in chunk.get("choices", []):
            for piece in choice["delta"].get("tool_calls") or []:
                call = calls.setdefault(piece["index"], ["", "", ""])
                call[0] += piece.get("id") or ""
                call[1] += piece["function"].get("name") or ""
                call[2] += piece["function"].get("arguments") or ""
    return [(call[0], call[1], call[2]) for _, call in sorted(calls.items())]


ODD_STREAMS = {
    "no arguments": called({"index": 0, "id": "a", "function": {"name": "one"}}),
    "id and name in each piece": called(
        *[{"index": 0, "id": "a", "function": {"name": "one", "arguments": part}} for part in ('{"x"', ":1}")]
    ),
    "mixed": called(
        {"index": 0, "id": "a", "function": {"name": "one", "arguments": '{"x"'}},
        {"index": 1, "id": "b", "function": {"name": "two", "arguments": '{"y"'}},
        {"index": 0, "function": {"arguments": ":1}"}},
        {"index": 1, "function": {"arguments": ":2}"}},
    ),
    "without numbers": called(
        {"id": "a", "function": {"name": "one", "arguments": '{"x"'}},
        {"function": {"arguments": ":1}"}},
        {"id": "b", "function": {"name": "two", "arguments": "{}"}},
    ),
}


@pytest.mark.parametrize("name", ODD_STREAMS)
async def test_calls_are_told_as_they_are_logged_however_they_came(
    front: Front, conductor: Conductor, name: str
) -> None:
    for path in ("/v1/chat/completions", "/v1/responses", "/v1/messages"):
        conductor.score.append(ODD_STREAMS[name])
        events = await streamed(front, path)
        event = (await front.logged())[-1]
        assert isinstance(event, ModelCallCompleted)
        logged = [
            (c.id, c.function.name, json.loads(c.function.arguments)) for c in event.message.tool_calls or []
        ]
        match path:
            case "/v1/chat/completions":
                told = [(key, name, json.loads(text)) for key, name, text in told_calls(events)]
            case "/v1/responses":
                items = events[-1]["response"]["output"]
                told = [(i["call_id"], i["name"], json.loads(i["arguments"])) for i in items]
            case _:
                blocks = [e["content_block"] for e in events if e["type"] == "content_block_start"]
                texts: dict[int, str] = {}
                for e in events:
                    if e["type"] == "content_block_delta":
                        texts[e["index"]] = texts.get(e["index"], "") + e["delta"]["partial_json"]
                told = [(b["id"], b["name"], json.loads(texts[i])) for i, b in enumerate(blocks)]
        assert told == logged
        assert len(logged) == (2 if name in ("mixed", "without numbers") else 1)


async def test_a_streamed_call_that_comes_back_is_whole_out_of_the_log(start_front: StartFront) -> None:
    first, second = await start_front(), await start_front()
    one = await streamed(first, Idempotency_Key="k")
    other = await streamed(second, Idempotency_Key="k")
    assert told_calls(one) == told_calls(other) != []
    assert await completed(first) == 1


@pytest.mark.parametrize(
    "odd",
    [
        {"token_ids": 5},
        {"token_ids": ["x"]},
        {"logprobs": {"content": [{"token": "a", "logprob": None}]}},
        {"logprobs": {"content": 3}},
    ],
)
async def test_odd_tokens_of_an_upstream_are_a_malformed_reply(
    front: Front, conductor: Conductor, odd: Any
) -> None:
    conductor.score.append(
        [PIECES[1], {"choices": [{"index": 0, "delta": {"content": "a"}, **odd}]}, *PIECES[-2:]]
    )
    events = await streamed(front)
    assert "error" in events[-1]
    (event,) = await front.logged()
    assert isinstance(event, ModelCallFailed)
    assert event.failure.kind is FailureKind.MALFORMED_REPLY


async def test_huge_counts_are_a_malformed_reply(front: Front, conductor: Conductor) -> None:
    conductor.score.append({**ANSWER, "usage": {"prompt_tokens": 1, "completion_tokens": 1e30}})
    assert (await post(front))[0] == 502


async def test_arguments_nested_too_deep_are_text(front: Front, conductor: Conductor) -> None:
    function = {"name": "zoom", "arguments": f'{{"a": {DEEP}}}'}
    message = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    conductor.score.append(
        {**ANSWER, "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]}
    )
    status, told = await post(front, {**ASKED, "max_tokens": 5}, "/v1/messages")
    assert status == 200
    assert told["content"][0]["input"] == {"arguments": function["arguments"]}


@pytest.mark.parametrize(
    ("asked", "headers", "told"),
    [
        (f'{{"model": "m", "messages": [], "metadata": {DEEP}}}'.encode(), {}, "nested too deep"),
        ({**ASKED, "stream": 1}, {}, "must be true or false"),
        ({**ASKED, "stream": "true"}, {}, "must be true or false"),
        (ASKED, {"Idempotency_Key": "k\u00ff"}, "printable ASCII"),
        (ASKED, {"Idempotency_Key": "k" * 300}, "printable ASCII"),
        (b"no gzip", {"Content_Encoding": "gzip"}, "can't be read"),
    ],
)
async def test_odd_requests_are_told_so(
    front: Front, conductor: Conductor, asked: Any, headers: dict[str, str], told: str
) -> None:
    if isinstance(asked, bytes) and asked.startswith(b"{"):
        asked = asked.replace(b'"messages": []', b'"messages": [{"role": "user", "content": "hi"}]')
    status, answer = await post(front, asked, **headers)
    assert status == 400
    assert told in answer["error"]["message"]
    assert conductor.asked == []


async def test_an_empty_mark_is_none(front: Front, conductor: Conductor) -> None:
    for temperature in (0, 1):
        assert (await post(front, {**ASKED, "temperature": temperature}, Idempotency_Key=""))[0] == 200
    assert len(conductor.asked) == 2


async def test_after_the_end_nothing_else_is_answered_either(front: Front, conductor: Conductor) -> None:
    await end(front, PROGRAM)

    async def refused() -> bool:
        return (await post(front))[0] == 403

    async with asyncio.timeout(10):
        while not await refused():  # noqa: ASYNC110 - it is another's to come true
            await asyncio.sleep(0.05)
    before = len(conductor.asked)
    assert (await post(front, {"model": "m", "input": "hi"}, "/v1/embeddings"))[0] == 403
    assert (await post(front, ASKED, "/v1/messages/count_tokens"))[0] == 403
    assert len(conductor.asked) == before


async def test_one_program_has_so_many_calls_at_once(front: Front, conductor: Conductor) -> None:
    conductor.gate.clear()
    asking = [asyncio.ensure_future(post(front)) for _ in range(MOST_UNDER_WAY)]
    await until(lambda: len(conductor.asked) >= MOST_UNDER_WAY)
    status, told = await post(front)
    assert (status, told["error"]["code"]) == (429, "too_many_calls")
    assert (await asyncio.wait_for(_another(front, conductor), 10)) == 200
    await asyncio.gather(*asking)


async def _another(front: Front, conductor: Conductor) -> int:
    """Another program is not meant by that."""
    asking = asyncio.ensure_future(post(front, token=front.token("run/1/0/2/2")))
    await asyncio.sleep(0.1)
    conductor.gate.set()
    return (await asking)[0]


async def test_a_body_that_does_not_come_is_not_awaited_for_ever(front: Front) -> None:
    """No longer than the program lives."""
    host, _, port = front.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {front.token(seconds=1)}\r\n"
    writer.write(f"{head}Content-Length: 100\r\n\r\n{{".encode())
    answer = await asyncio.wait_for(reader.read(100), 10)
    assert b" 504 " in answer
    writer.close()
