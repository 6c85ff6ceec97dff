"""The way into a replica: in turn over runs, never more than it bears, and nobody forgotten."""

import asyncio
import time
from collections.abc import Callable

import pytest

from odradek_model_gateway.failures import CallError
from odradek_model_gateway.gate import Gate
from odradek_model_gateway.limits import Ask, Charge, LocalLimits, Refusal
from odradek_model_gateway.width import Width
from odradek_schemas.failures import FailureKind


class Visitors:
    """Calls at a gate: who was let in, in order, and how many at once."""

    def __init__(self, gate: Gate, ask: Callable[[], Ask] = lambda: Ask("m", 1)) -> None:
        self.gate = gate
        self.order: list[str] = []
        self.most = 0
        self._inside = 0
        self._ask = ask

    def come(self, run: str, seconds: float = 60.0) -> "asyncio.Task[None]":
        return asyncio.create_task(self._visit(run, asyncio.get_running_loop().time() + seconds))

    async def _visit(self, run: str, until: float) -> None:
        async with self.gate.turn(run, self._ask(), until):
            self.order.append(run)
            self._inside += 1
            self.most = max(self.most, self._inside)
            await asyncio.sleep(0)
            self._inside -= 1


def gate(most: int) -> Gate:
    return Gate(Width(most), LocalLimits())


async def test_a_small_run_is_served_at_once_however_much_a_big_one_has_queued() -> None:
    visitors = Visitors(gate(1))
    big = [visitors.come("big") for _ in range(100)]
    small = visitors.come("small")
    await asyncio.sleep(0)
    served_before = len(visitors.order)
    await asyncio.gather(small, *big)
    assert visitors.order.index("small") - served_before <= 1, "second at the latest, not the 101st"
    assert visitors.most == 1


async def test_there_are_never_more_than_it_bears_and_all_come_in() -> None:
    visitors = Visitors(gate(3))
    await asyncio.gather(*(visitors.come(f"run {n % 7}") for n in range(200)))
    assert (len(visitors.order), visitors.most) == (200, 3)
    assert (visitors.gate.under_way, visitors.gate.full) == (0, False)


@pytest.mark.parametrize("turns", range(6))
async def test_who_is_cancelled_wherever_it_is_leaves_no_ghost(turns: int) -> None:
    visitors = Visitors(gate(2))
    tasks = [visitors.come(f"run {n % 3}") for n in range(12)]
    for _ in range(turns):
        await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (visitors.gate.under_way, visitors.gate.full) == (0, False)
    await asyncio.gather(*(visitors.come("later") for _ in range(4)))
    assert visitors.order[-4:] == ["later"] * 4


async def test_who_waits_longer_than_its_call_is_waited_for_is_told_why() -> None:
    narrow = gate(1)
    until = asyncio.get_running_loop().time() + 60
    async with narrow.turn("first", Ask("m http://a", 1), until):
        with pytest.raises(CallError, match=r"no turn at m .*: 1 calls are under way") as told:
            await Visitors(narrow).come("second", seconds=0.1)
    assert told.value.failure.kind is FailureKind.RATE_LIMITED
    assert (narrow.under_way, narrow.full) == (0, False)


def asks(per_minute: int, units: int = 1) -> Callable[[], Ask]:
    return lambda: Ask("m", 100, (Charge("m/requests", "requests_per_minute of 'm'", per_minute, units),))


async def test_a_rate_is_kept_and_who_can_not_have_it_in_time_is_told() -> None:
    visitors = Visitors(gate(100), asks(per_minute=66))
    results = await asyncio.gather(
        *(visitors.come("run", seconds=0.5) for _ in range(20)), return_exceptions=True
    )
    refused = [result for result in results if isinstance(result, CallError)]
    assert 6 <= len(visitors.order) <= 7, "six at once, and another each second"
    assert len(refused) == 20 - len(visitors.order)
    assert all("requests_per_minute of 'm'" in str(error) for error in refused)


async def test_a_rate_that_is_used_up_by_a_big_run_is_shared_in_turn() -> None:
    visitors = Visitors(gate(100), asks(per_minute=660))
    big = [visitors.come("big") for _ in range(70)]
    await asyncio.sleep(0)
    small = visitors.come("small")
    await small
    assert len(visitors.order) < 70, "60 came at once, and the small run is not behind the rest"
    for task in big:
        task.cancel()
    await asyncio.gather(*big, return_exceptions=True)
    assert visitors.gate.under_way == 0


class Rationed:
    """Limits that let one call in each hundredth of a second, and count how often they are asked."""

    def __init__(self) -> None:
        self.asked = self._given = 0
        self._began = time.monotonic()

    async def begin(self, ask: Ask) -> Refusal | None:
        self.asked += 1
        await asyncio.sleep(0)
        gone = (time.monotonic() - self._began) / 0.01
        if self._given <= gone:
            self._given += 1
            return None
        return Refusal("not yet", 0.01 * (self._given - gone))

    def end(self, ask: Ask) -> None:
        pass


async def test_what_has_no_chance_is_not_asked_for() -> None:
    limits = Rationed()
    visitors = Visitors(Gate(Width(40), limits))
    await asyncio.gather(*(visitors.come("run") for _ in range(40)))
    assert limits.asked <= 5 * 40, "not each that waits, each time that one is let in"


async def test_who_was_cancelled_has_used_up_no_turn_of_its_run() -> None:
    visitors = Visitors(gate(1))
    async with visitors.gate.turn("first", Ask("m", 1), asyncio.get_running_loop().time() + 60):
        tasks = [visitors.come("A") for _ in range(5)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        later = [visitors.come(run) for run in "BBBA"]
        await asyncio.sleep(0)
    await asyncio.gather(*later)
    assert visitors.order.index("A") <= 1


async def test_a_place_that_a_call_leaves_is_asked_for_at_once() -> None:
    """A refusal for want of a place may last long: the end of a call here is a reason to ask again."""

    class Single:
        under_way = 0

        async def begin(self, ask: Ask) -> Refusal | None:
            if self.under_way:
                return Refusal("taken", 1000.0, crowded=True)
            self.under_way += 1
            return None

        def end(self, ask: Ask) -> None:
            self.under_way -= 1

    visitors = Visitors(Gate(Width(8), Single()))
    await asyncio.wait_for(asyncio.gather(*(visitors.come("run") for _ in range(20))), 10)
    assert visitors.most == 1
