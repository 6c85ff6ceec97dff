"""Many records at once, as after a restart, must not make one long turn of the event loop."""

import asyncio
from collections import Counter

import pytest
from runtime_lab import CALLS, Echo, EchoHandler, Lab, Tally, call, until

from odradek_runtime.records import Outputs
from odradek_runtime.stateful import TURN_RECORDS
from odradek_runtime.turn import MOST_BEGUN, Turn
from odradek_schemas.events import ModelCallRequested

pytestmark = pytest.mark.kafka


class Turns:
    """Counts what is begun in each turn of the event loop."""

    def __init__(self) -> None:
        self.turn = 0
        self.begun_in: Counter[int] = Counter()
        self._next()

    def begun(self) -> None:
        self.begun_in[self.turn] += 1

    def _next(self) -> None:
        self.turn += 1
        asyncio.get_running_loop().call_soon(self._next)


class CountedEcho(Echo):
    turns: Turns

    async def work(self, event: ModelCallRequested, handler: EchoHandler) -> None:
        self.turns.begun()
        await super().work(event, handler)


class CountedTally(Tally):
    turns: Turns

    def outputs(self, event: ModelCallRequested, number: int) -> Outputs:
        self.turns.begun()
        return super().outputs(event, number)


async def test_few_records_are_begun_in_one_turn_and_all_in_the_end(lab: Lab) -> None:
    """Caught: hundreds that begin together, each partition its share; some that never begin."""
    for partition in range(2):
        await lab.send(CALLS, [call(n) for n in range(partition, 400, 2)], partition=partition)
    echo = CountedEcho(max_in_flight=800)
    echo.turns = Turns()
    echo.gate.clear()
    lab.start(echo.processor())
    await until(lambda: echo.running == 400)
    assert max(echo.turns.begun_in.values()) <= MOST_BEGUN
    echo.gate.set()
    assert len(await lab.answered(400)) == 400


async def test_a_fold_takes_few_records_in_one_turn(lab: Lab) -> None:
    """Caught: a cycle of thousands of records in which no heartbeat is sent."""
    await lab.send(CALLS, [call(n) for n in range(400)], partition=0)
    tally = CountedTally()
    tally.turns = Turns()
    lab.start(tally.processor())
    assert len(await lab.answered(400)) == 400
    assert max(tally.turns.begun_in.values()) <= TURN_RECORDS


async def test_who_gets_nothing_in_a_turn_comes_first_in_the_next() -> None:
    """Caught: one busy partition that takes every turn, and the others wait until it is done."""
    turn = Turn(most=2)
    began: list[str] = []

    def beginning(name: str) -> None:
        while began.count(name) < 4 and turn.take(again[name]):
            began.append(name)

    again = {name: (lambda name=name: beginning(name)) for name in "abc"}
    for start in again.values():
        start()
    for _turn in range(20):
        await asyncio.sleep(0)
    assert "".join(began) == "aaaabbccbbcc", (
        "in the order of asking: the first asked for more before the others came"
    )
