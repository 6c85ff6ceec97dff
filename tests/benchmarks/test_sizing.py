"""How large a deployment must be, reckoned: the bounds hold for every load, and the page has what is reckoned today."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import report
from benchmarks.harness.results import RESULTS, read_latest
from benchmarks.sizing import MOST_IN_FLIGHT, MOST_PARTITIONS, Load, Measured, cycles, partitions_for, size
from odradek_runtime.positions import MAX_IN_FLIGHT
from odradek_schemas.topics import AGENT, GATEWAY

MEASURED = Measured(read_latest(RESULTS))

loads = st.builds(
    Load,
    in_flight=st.integers(1, 2_000_000),
    seconds=st.floats(0.5, 7200),
    calls=st.integers(1, 60),
    waiting=st.floats(0, 1),
    replicas=st.sampled_from([1, 3]),
)


def test_what_was_measured_with_sixteen_partitions_is_given_sixteen() -> None:
    assert partitions_for(Load(10_000, waiting=0.9)) == 16
    assert partitions_for(Load(100)) == 4


def test_the_rate_is_littles() -> None:
    assert Load(10_000, seconds=50).rate == 200


def test_a_rollout_between_the_measured_kinds_costs_what_lies_between() -> None:
    one, four = (MEASURED.cpu_ms(AGENT, calls) for calls in (1, 4))
    assert one < MEASURED.cpu_ms(AGENT, 2) < four < MEASURED.cpu_ms(AGENT, 8)


@given(load=loads)
def test_no_partition_and_no_worker_is_given_more_than_it_bears(load: Load) -> None:
    found = size(load, MEASURED)
    everywhere = found.deployments * found.partitions
    assert load.calls_in_flight / everywhere <= MAX_IN_FLIGHT
    assert max(found.workers.values()) <= everywhere, "a worker without a partition does nothing"
    assert load.in_flight <= found.workers[AGENT] * MOST_IN_FLIGHT
    assert load.calls_in_flight <= found.workers[GATEWAY] * MOST_IN_FLIGHT
    assert found.deployments == 1 or found.partitions >= MOST_PARTITIONS
    assert found.brokers >= load.replicas
    assert sum(found.cores.values()) <= found.most_cores


@given(load=loads, more=st.floats(1, 10))
def test_more_in_flight_never_needs_less(load: Load, more: float) -> None:
    less, found = (size(one, MEASURED) for one in (load, replace(load, in_flight=int(load.in_flight * more))))
    assert found.deployments * found.partitions >= less.deployments * less.partitions
    assert all(found.workers[pool] >= less.workers[pool] for pool in less.workers)
    assert found.stored == less.stored


@pytest.mark.parametrize(("records", "expected"), [(10, 10), (100, 100), (5000, 1 / 0.045)])
def test_a_cycle_carries_more_the_more_there_is(records: float, expected: float) -> None:
    assert cycles(records) == pytest.approx(expected)


def test_the_pages_have_what_is_reckoned_today() -> None:
    for page in report.PAGES:
        assert report.rewrite(page.read_text(), RESULTS) == page.read_text(), (
            f"{page}: python -m benchmarks.report"
        )
