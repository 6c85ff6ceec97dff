"""`GET /v1/rewards/stream`, as a client sees it."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientSession, ClientTimeout
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek_training import PositionDiffers
from odradek_training.cursor import from_cursor, to_cursor
from odradek_training.server import RewardServer

pytestmark = pytest.mark.kafka
TIMEOUT = ClientTimeout(total=60)


@pytest.fixture
async def server(world: Any) -> AsyncIterator[RewardServer]:
    server = RewardServer(world.deployment, "127.0.0.1", 0, heartbeat=0.05)
    await server.start()
    yield server
    await server.stop()


async def events(
    server: RewardServer, last: str | None = None, **query: str
) -> AsyncIterator[dict[str, str]]:
    """What is sent, event by event; a comment is an event of its own."""
    headers = {"Last-Event-ID": last} if last else {}
    async with (
        ClientSession(timeout=TIMEOUT) as client,
        client.get(server.url, params=query, headers=headers) as answer,
    ):
        assert answer.headers["Content-Type"] == "text/event-stream", await answer.text()
        event: dict[str, str] = {}
        async for line in answer.content:
            name, separator, value = line.decode().rstrip("\n").partition(": ")
            if separator:
                event[name or "comment"] = value
            else:
                yield event
                event = {}


async def test_a_client_that_comes_back_goes_on_behind_its_last_event(
    world: Any, makes: Any, server: RewardServer
) -> None:
    rewards = [makes.reward(task, sample, float(sample)) for sample in (0, 1) for task in range(3)]
    await world.write(makes.run(), *rewards, makes.finish(6))
    given: list[str] = []
    last: str | None = None
    for _ in range(3):
        async for event in events(server, last, run="r", group_size="2"):
            if event.get("event") == "group":
                group = json.loads(event["data"])
                assert [reward["reward"] for reward in group["rewards"]] == [0.0, 1.0]
                assert group["advantages"] == pytest.approx([-0.7070, 0.7070], abs=1e-3)
                given.append(group["task_id"])
                last = event["id"]
                break
    rest = [event async for event in events(server, last, run="r") if event.get("event") != "group"]
    assert rest[-1]["event"] == "end"
    assert json.loads(rest[-1]["data"])["groups"] == 0
    assert sorted(given) == ["r/0", "r/1", "r/2"]


async def test_a_silent_stream_beats_until_it_has_waited_too_long(
    world: Any, makes: Any, server: RewardServer
) -> None:
    await world.write(makes.run(), makes.reward(0, 0))
    found = [event async for event in events(server, run="r", idle_timeout="0.6")]
    assert {"comment": "heartbeat"} in found
    assert found[-1]["event"] == "error"
    assert json.loads(found[-1]["data"])["kind"] == "StreamIdle"


@pytest.mark.parametrize(
    ("query", "status", "told"),
    [
        ([("run", "r"), ("grup_size", "2")], 400, "grup_size"),
        ([("run", "r"), ("rank", "0"), ("rank", "1")], 400, "rank: given twice"),
        ([("run", "r"), ("group_size", "two")], 400, "group_size"),
        ([("run", "r"), ("rank", "3"), ("ranks", "2")], 400, "counted from 0"),
        ([], 400, "name what to read"),
        ([("run", "nope")], 404, "no run 'nope'"),
        ([("run", "r"), ("group_size", "8")], 409, "plays 2 rollouts"),
        ([("run", "r"), ("last_event_id", "x")], 400, "event id"),
    ],
)
async def test_bad_queries_are_refused(
    world: Any, makes: Any, server: RewardServer, query: list[tuple[str, str]], status: int, told: str
) -> None:
    await world.write(makes.run())
    async with ClientSession(timeout=TIMEOUT) as client, client.get(server.url, params=query) as answer:
        assert answer.status == status
        assert told in (await answer.json())["error"]["message"]


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=8), max_size=5))
def test_a_cursor_holds_a_position(position: dict[str, Any]) -> None:
    assert from_cursor(to_cursor(position)) == position


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=40))
def test_what_is_no_cursor_is_refused(text: str) -> None:
    try:
        from_cursor(text)
    except PositionDiffers as error:
        assert "event id" in str(error)  # noqa: PT017
