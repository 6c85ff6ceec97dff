"""Many records at once, as after a restart, must not make one long turn of the event loop."""

import asyncio
from collections import Counter

import pytest
from runtime_lab import CALLS, Echo, EchoHandler, Lab, call, until

from odradek_runtime.concurrent import MOST_BEGUN
from odradek_schemas.events import ModelCallRequested

pytestmark = pytest.mark.kafka


class Turns(Echo):
    """Counts what is begun in each turn of the event loop."""

    turn = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.begun_in: Counter[int] = Counter()
        asyncio.get_running_loop().call_soon(self.next_turn)

    def next_turn(self) -> None:
        self.turn += 1
        asyncio.get_running_loop().call_soon(self.next_turn)

    async def work(self, event: ModelCallRequested, handler: EchoHandler) -> None:
        self.begun_in[self.turn] += 1
        await super().work(event, handler)


async def test_few_records_are_begun_in_one_turn_and_all_in_the_end(lab: Lab) -> None:
    """Caught: hundreds that begin together, and then take each of their steps together; some that never begin."""
    await lab.send(CALLS, [call(n) for n in range(400)], partition=0)
    echo = Turns(max_in_flight=800)
    echo.gate.clear()
    lab.start(echo.processor())
    await until(lambda: echo.running == 400)
    assert max(echo.begun_in.values()) <= MOST_BEGUN
    echo.gate.set()
    assert len(await lab.answered(400)) == 400
