"""From what was seen and told to a pool's load."""

import pytest

from odradek_runtime.positions import Position
from odradek_scaling.combining import combine, is_whole
from odradek_scaling.outside import Outside, unread
from odradek_scaling.telling import Told, by_name, read_told
from odradek_schemas.topics import AGENT, ENV, GATEWAY, VERIFIER

A, B = ("small", "0"), ("small", "1")
EXPOSED = """\
# HELP odradek_owned_partitions Partition numbers that are ready.
# TYPE odradek_owned_partitions gauge
odradek_owned_partitions 3.0
# TYPE odradek_open_sessions gauge
odradek_open_sessions 5.0
# TYPE odradek_replica_calls gauge
odradek_replica_calls{model="small",replica="0"} 7.0
odradek_replica_calls{model="small",replica="1"} 1.0
# TYPE odradek_replica_limit_calls gauge
odradek_replica_limit_calls{model="small",replica="0"} 8.0
odradek_replica_limit_calls{model="small",replica="1"} 2.0
"""


def outside(backlog: int = 0, begun: int = 0, owned: int = 4) -> Outside:
    return Outside(backlog=backlog, begun=begun, members=1, owned=owned)


def test_reads_what_a_worker_tells() -> None:
    told = read_told(EXPOSED)
    assert told == Told(owned=3, sessions=5, calls=8, limits={("small", "0"): 8, ("small", "1"): 2})


def test_what_is_not_prometheus_text_is_an_error() -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the parser's own words
        read_told("<html>")


@pytest.mark.parametrize(
    ("pool", "told", "in_flight", "load"),
    [
        (VERIFIER, None, 5, 20),
        (AGENT, [Told(rollouts=100), Told(rollouts=30)], 130, 20),
        (ENV, [Told(sessions=15), Told(sessions=15)], 30, 30),
        (ENV, [Told(sessions=15)], 15, 20),
        (ENV, [], 0, 20),
        (GATEWAY, [], 0, 20),
        (GATEWAY, [Told(calls=3, limits={A: 8})], 3, 8),
        (GATEWAY, [Told(limits={A: 8, B: 4}), Told(limits={A: 6})], 0, 12),
        (GATEWAY, [Told(calls=25, limits={A: 64})], 25, 25),
    ],
)
def test_load(pool: str, told: list[Told] | None, in_flight: int, load: int) -> None:
    measured = combine(pool, outside(backlog=20, begun=5), told)
    assert (measured.in_flight, measured.load, measured.backlog) == (in_flight, load, 20)


def test_whoever_is_silent_about_what_the_load_depends_on_is_missed() -> None:
    assert is_whole(ENV, outside(owned=4), [Told(owned=3), Told(owned=1)])
    assert not is_whole(ENV, outside(owned=4), [Told(owned=3)])
    assert is_whole(ENV, outside(owned=0), [])
    assert is_whole(AGENT, outside(owned=4), [])


def test_unread_begins_where_workers_stand_and_never_before_the_log() -> None:
    positions = {("t", 0): Position(5), ("t", 1): Position(9), ("t", 3): Position(2)}
    bounds = {("t", 0): (0, 9), ("t", 1): (0, 9), ("t", 2): (3, 4), ("t", 3): (6, 8)}
    assert unread(positions, bounds) == {("t", 0): (5, 9), ("t", 2): (3, 4), ("t", 3): (6, 8)}


@pytest.mark.parametrize("template", ["env-worker", ":9400", "{pool}:http"])
def test_a_template_without_host_and_port_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match="is not HOST:PORT"):
        by_name(template)


async def test_a_pool_is_found_by_its_name() -> None:
    assert await by_name("localhost:9400")("env-worker") == [("127.0.0.1", 9400)] or await by_name(
        "localhost:9400"
    )("env-worker") == [("127.0.0.1", 9400), ("::1", 9400)]
    assert await by_name("{pool}.invalid:9400")("env-worker") == []
