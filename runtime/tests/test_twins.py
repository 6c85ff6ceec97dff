"""Two workers of one name are named."""

from functools import partial
from typing import Any

import pytest
import structlog
from aiokafka import AIOKafkaConsumer
from runtime_lab import Echo, Lab, until

from odradek_runtime import membership, twins
from odradek_runtime.twins import OFTEN, TwinWatch

BOTH = frozenset({0, 1})


def test_an_assignment_that_comes_again_and_again_has_a_cause() -> None:
    watch = TwinWatch("w-0")
    assert [watch.look(BOTH, 7) for _ in range(OFTEN + 1)] == [False] * OFTEN + [True]
    assert not watch.look(BOTH, 7), "said once in a while"


def test_rebalances_and_dynamic_members_have_no_twins() -> None:
    watch = TwinWatch("w-0")
    assert not any(watch.look(BOTH, generation) for generation in range(3 * OFTEN))
    watch = TwinWatch(None)
    assert not any(watch.look(BOTH, 7) for _ in range(3 * OFTEN))


@pytest.mark.kafka
async def test_two_workers_of_one_name_without_traffic_are_told(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: two workers that evict each other silently."""

    def quick(consumer: Any, **settings: Any) -> Any:
        return consumer(**{**settings, "heartbeat_interval_ms": 300})

    monkeypatch.setattr(membership, "AIOKafkaConsumer", partial(quick, AIOKafkaConsumer))
    monkeypatch.setattr(twins, "log", structlog.get_logger("fresh"))
    with structlog.testing.capture_logs() as told:
        first = lab.start(Echo().processor(), worker_id="twin")
        await lab.owning(first)
        lab.start(Echo().processor(), worker_id="twin")
        await until(lambda: any("ODRADEK_WORKER_ID" in entry["event"] for entry in told))
