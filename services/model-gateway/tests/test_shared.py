"""Limits of several gateways together, on a real Valkey; and what becomes of them while it is away."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from redis.asyncio import Redis

from odradek_local.valkey import ValkeyServer
from odradek_model_gateway import shared
from odradek_model_gateway.gate import Gate
from odradek_model_gateway.limits import Ask, Charge, Limits, LocalLimits, Refusal
from odradek_model_gateway.metrics import GatewayMetrics
from odradek_model_gateway.pace import seconds_each
from odradek_model_gateway.shared import SharedLimits
from odradek_model_gateway.width import Width

PATIENCE = 20.0
NOWHERE = "redis://127.0.0.1:9/0"

Opens = Callable[..., SharedLimits]


@pytest.fixture
async def opened(valkey: ValkeyServer, prefix: str) -> AsyncIterator[Opens]:
    """Opens the limits of one more gateway."""
    all_opened = []

    def open_one(url: str = valkey.url) -> SharedLimits:
        all_opened.append(SharedLimits(url, prefix, LocalLimits()))
        return all_opened[-1]

    yield open_one
    for limits in all_opened:
        await limits.close()


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done again and again is done without long pauses."""
    monkeypatch.setattr(shared, "AGAIN_SECONDS", 0.05)
    monkeypatch.setattr(shared, "TELL_SECONDS", 0.05)
    monkeypatch.setattr(shared, "CROWDED_SECONDS", 0.01)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was logged."""
    lines: list[str] = []

    class Log:
        def warning(self, event: str, **more: Any) -> None:
            lines.append(event)

        info = warning

    monkeypatch.setattr(shared, "log", Log())
    return lines


@pytest.fixture
async def own_valkey(tmp_path: Path) -> AsyncIterator[ValkeyServer]:
    """One that a test may do anything to."""
    server = ValkeyServer(tmp_path / "log", port=0)
    server.start()
    await server.healthy()
    yield server
    os.kill(server.process.pid, signal.SIGCONT)
    server.stop()


async def until(so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if await so():
                return
            await asyncio.sleep(0.02)


def requests(per_minute: int) -> Charge:
    return Charge("m/requests", "requests_per_minute", per_minute, 1)


def tokens(per_minute: int, guess: int) -> Charge:
    return Charge("m/tokens", "tokens_per_minute", per_minute, guess, guessed=True)


class Calls:
    """Calls through the gates of several gateways to one replica; `finished` has each call's gateway, in order."""

    def __init__(self, *gates: Gate, seconds: float = 0.005) -> None:
        self.gates, self.seconds = gates, seconds
        self.inside = self.most = 0
        self.finished: list[int] = []

    async def make(self, gateway: int, most: int) -> None:
        until = asyncio.get_running_loop().time() + PATIENCE
        async with self.gates[gateway].turn("run", Ask("m http://a", most), until):
            self.inside += 1
            self.most = max(self.most, self.inside)
            await asyncio.sleep(self.seconds)
            self.inside -= 1
        self.finished.append(gateway)


@pytest.mark.usefixtures("hasty")
async def test_two_gateways_have_never_more_calls_under_way_than_one_may(opened: Opens) -> None:
    calls = Calls(Gate(Width(3), opened()), Gate(Width(3), opened()))
    await asyncio.gather(*(calls.make(n % 2, most=3) for n in range(60)))
    assert calls.most == 3
    assert sorted(calls.finished) == [0] * 30 + [1] * 30


CALLER = """
import asyncio, sys
from redis.asyncio import Redis
from odradek_model_gateway.gate import Gate
from odradek_model_gateway.limits import Ask, LocalLimits
from odradek_model_gateway.shared import SharedLimits
from odradek_model_gateway.width import Width
async def main():
    url, prefix = sys.argv[1:]
    counter, limits = Redis.from_url(url), SharedLimits(url, prefix, LocalLimits())
    gate, until = Gate(Width(3), limits), asyncio.get_running_loop().time() + 30
    async def call():
        async with gate.turn("run", Ask("m", 3), until):
            inside = await counter.incr(prefix + "inside")
            await asyncio.sleep(0.005)
            await counter.decr(prefix + "inside")
            return inside
    print(max(await asyncio.gather(*(call() for _ in range(60)))), flush=True)
    await limits.close()
    await counter.aclose()
asyncio.run(main())
"""


async def test_two_processes_have_never_more_calls_under_way_than_one_may(
    valkey: ValkeyServer, prefix: str
) -> None:
    command = (sys.executable, "-c", CALLER, valkey.url, prefix)
    callers = [
        await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE) for _ in range(2)
    ]
    told = await asyncio.gather(*(caller.communicate() for caller in callers))
    assert [caller.returncode for caller in callers] == [0, 0]
    assert max(int(out) for out, _ in told) == 3


@pytest.mark.parametrize("most", [1, 2, 5])
async def test_a_gateway_that_has_all_places_leaves_one_to_who_waits(opened: Opens, most: int) -> None:
    """Else whoever ends a call takes its place again before another gateway can ask."""
    greedy, late = opened(), opened()
    assert [await greedy.begin(Ask("m", most)) for _ in range(most)] == [None] * most
    assert await late.begin(Ask("m", most)) is not None
    greedy.end(Ask("m", most))
    assert await greedy.begin(Ask("m", most)) is not None
    assert await late.begin(Ask("m", most)) is None


async def test_two_gateways_share_a_rate(opened: Opens) -> None:
    gateways, began, begun = [opened(), opened()], time.monotonic(), 0
    while time.monotonic() < began + 1.0:
        refusals = await asyncio.gather(
            *(gateway.begin(Ask("m", 1000, (requests(660),))) for gateway in gateways)
        )
        begun += refusals.count(None)
    most = 60 + (time.monotonic() - began) / seconds_each(660) + 1
    assert 60 <= begun <= most


async def test_tokens_are_settled_when_they_are_known(opened: Opens) -> None:
    one, other = opened(), opened()
    big = Ask("m", 10, (tokens(6000, guess=600),))
    assert await one.begin(big) is None
    refusal = await other.begin(Ask("m", 10, (tokens(6000, guess=600),)))
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.crowded) == ("tokens_per_minute", False)
    assert 0 < refusal.seconds <= 66
    big.tokens = 10
    one.end(big)

    async def fits() -> bool:
        return await other.begin(Ask("m", 10, (tokens(6000, guess=500),))) is None

    await until(fits)


HOLDER = """
import asyncio, sys
from odradek_model_gateway import shared
from odradek_model_gateway.limits import Ask, LocalLimits
shared.LEASE_SECONDS, shared.TELL_SECONDS = 1.0, 0.2
async def hold():
    limits = shared.SharedLimits(sys.argv[1], sys.argv[2], LocalLimits())
    print([await limits.begin(Ask("m", 3)) for _ in range(2)], flush=True)
    await asyncio.sleep(60)
asyncio.run(hold())
"""


@pytest.mark.usefixtures("hasty")
async def test_places_of_a_killed_process_come_back_and_those_of_a_living_one_do_not(
    opened: Opens, valkey: ValkeyServer, prefix: str
) -> None:
    command = (sys.executable, "-c", HOLDER, valkey.url, prefix)
    holder = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert await holder.stdout.readline() == b"[None, None]\n"
        limits = opened()
        assert await limits.begin(Ask("m", 3)) is None
        began = time.monotonic()
        while time.monotonic() < began + 1.5:
            refusal = await limits.begin(Ask("m", 3))
            assert isinstance(refusal, Refusal)
            assert refusal.crowded
            await asyncio.sleep(0.1)
    finally:
        holder.kill()
        await holder.wait()

    async def free() -> bool:
        return await limits.begin(Ask("m", 3)) is None

    await until(free)


async def test_a_call_that_is_cancelled_while_it_asks_holds_no_place(opened: Opens) -> None:
    one, other = opened(), opened()
    asking = [asyncio.create_task(one.begin(Ask("m", 4))) for _ in range(4)]
    await asyncio.sleep(0)
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)

    async def free() -> bool:
        refusals = [await other.begin(Ask("m", 4)) for _ in range(4)]
        for refusal in refusals:
            if refusal is None:
                other.end(Ask("m", 4))
        return refusals == [None] * 4

    await until(free)


async def test_a_begin_costs_one_round_trip_an_end_at_most_one_and_many_go_together(
    opened: Opens, valkey: ValkeyServer
) -> None:
    limits, ask = opened(), Ask("m", 1000, (requests(10**6), tokens(10**9, guess=10)))
    async with Redis.from_url(valkey.url) as spy:

        async def scripts() -> int:
            stats = (await spy.info("commandstats")).get("cmdstat_evalsha", {})
            return int(stats.get("calls", 0))

        await limits.begin(ask)
        before = await scripts()
        for _ in range(50):
            assert await limits.begin(ask) is None
            limits.end(ask)
        one_by_one = await scripts() - before
        await asyncio.gather(*(limits.begin(ask) for _ in range(200)))
        together = await scripts() - before - one_by_one
    assert one_by_one <= 100
    assert together <= 10


def lost_gauge(limits: Limits) -> float | None:
    """What a gateway with these limits tells Prometheus of them."""
    metrics, registry = GatewayMetrics({}), CollectorRegistry()
    metrics.watch(limits)
    registry.register(metrics.limits_lost)
    value: float | None = registry.get_sample_value("odradek_limits_lost")
    return value


async def test_a_server_that_is_not_there_keeps_nobody_waiting(opened: Opens, told: list[str]) -> None:
    limits = opened(NOWHERE)
    asks = [Ask("m", 10, (requests(20),)) for _ in range(3)]
    refusals = [await limits.begin(ask) for ask in asks]
    assert refusals[0] is None
    assert isinstance(refusals[2], Refusal), "this gateway's own limits go on"
    assert told == ["limits are not shared any more"]


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("fault", ["frozen", "killed"])
async def test_sharing_goes_on_when_the_server_is_back(
    opened: Opens, own_valkey: ValkeyServer, told: list[str], fault: str
) -> None:
    one, other = opened(own_valkey.url), opened(own_valkey.url)
    assert await one.begin(Ask("m", 2)) is None
    if fault == "frozen":
        os.kill(own_valkey.process.pid, signal.SIGSTOP)
    else:
        own_valkey.process.kill()
    async with asyncio.timeout(PATIENCE):
        assert await one.begin(Ask("m", 2)) is None
        assert await other.begin(Ask("m", 2)) is None, "each has its own limits meanwhile"
    assert told == ["limits are not shared any more"] * 2
    assert lost_gauge(one) == lost_gauge(other) == 1
    if fault == "frozen":
        os.kill(own_valkey.process.pid, signal.SIGCONT)
    else:
        own_valkey.start()

    async def found() -> bool:
        return told.count("limits are shared again") == 2

    await until(found)
    assert lost_gauge(one) == lost_gauge(other) == 0
    newcomer = opened(own_valkey.url)

    async def known() -> bool:
        refusal = await newcomer.begin(Ask("m", 3))
        if refusal is None:
            newcomer.end(Ask("m", 3))
        return refusal is not None and refusal.crowded

    await until(known)
    assert told == ["limits are not shared any more"] * 2 + ["limits are shared again"] * 2
