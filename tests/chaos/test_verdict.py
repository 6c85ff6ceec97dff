"""What the suite measures, on logs made by hand: it must be able to find something."""

import pytest

from tests.chaos import matrix
from tests.chaos.arena import Hit
from tests.chaos.results import Result
from tests.chaos.verdict import Asked, Recovery, Repeats, recovery, repeats
from tests.chaos.watch import Sight, Watch
from tests.support.log import Log


def sight(
    written: float,
    seen: float,
    source: str = "agent-worker",
    partition: int = 0,
    name: str = "x",
    topic: str = "journal",
) -> Sight:
    kind, event = "ModelCallCompleted", f"{name}/completed"
    return Sight(topic, partition, 0, source, kind, event, "r", "r/0/0", written, seen, None)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ([1.0], Repeats(answered=0, in_flight=0, most=0)),
        ([1.0, 2.0], Repeats(answered=0, in_flight=1, most=1)),
        ([1.0, 2.0, 3.0], Repeats(answered=0, in_flight=1, most=2)),
        ([1.0, 6.0], Repeats(answered=1, in_flight=0, most=1)),
    ],
    ids=["once", "in flight when its gateway died", "twice more", "again when its answer was in the log"],
)
def test_repeated_calls_are_told_apart_by_when_their_answer_was_written(
    asked: list[float], found: Repeats
) -> None:
    answer = sight(5.0, 5.1, name="r/0/0/1/1")
    assert repeats([Asked("r/0/0/1/1", time) for time in asked], [answer]) == found


def watch(*sights: Sight) -> Watch:
    seen = Watch(Log("nowhere:1", ""))
    seen.sights = list(sights)
    return seen


async def test_recovery_is_the_first_record_of_the_struck_worker_on_its_partitions() -> None:
    """Caught: counting others' records, those of before the fault, or of partitions that were another's."""
    hit = Hit((("agent-worker", frozenset({0, 1})),), since=10.0, mended=10.0)
    seen = watch(
        sight(9.9, 10.1),
        sight(10.5, 10.6, source="env-worker"),
        sight(10.5, 10.7, partition=2),
        sight(10.5, 10.8, topic="run-progress"),
        sight(11.9, 12.0),
        sight(12.4, 12.5, partition=1),
        sight(13.0, 13.1),
    )
    assert recovery(seen, "r", [hit]) == Recovery(first=2.0, every=2.5)


async def test_after_the_broker_all_must_go_on_and_time_counts_from_when_it_is_back() -> None:
    hit = Hit((("agent-worker", frozenset({0})), ("env-worker", frozenset({0}))), since=10.0, mended=25.0)
    seen = watch(sight(12.0, 26.0), sight(27.0, 28.0, source="env-worker"))
    assert recovery(seen, "r", [hit]) == Recovery(first=3.0, every=3.0)


def test_each_scenario_has_a_name_of_its_own() -> None:
    names = [scenario.name for scenario in matrix.SCENARIOS]
    assert len(names) == len(set(names))


def test_a_scenario_that_failed_stands_out_in_the_table() -> None:
    result = Result(
        scenario="a/b/kill",
        struck="a",
        moment="b",
        fault="SIGKILL",
        recovery="",
        goal_seconds=2.0,
        seed=1,
        ok=False,
        notes=["1 lost"],
        commit="c",
        load=0.1,
    )
    document = f"before\n{matrix.BEGIN}\nold\n{matrix.END}\nafter\n"
    text = matrix.rendered(document, [result])
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "**not as it must**: 1 lost" in text
    assert "old" not in text
