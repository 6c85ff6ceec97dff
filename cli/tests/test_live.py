"""`odradek status --watch`: rates between two looks, runs and their coverage, and a Kafka that goes away and comes back."""

import asyncio
import json
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from odradek_cli.deployment import Deployment, find_deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.live import Picture, PoolNow, pictures, rate
from odradek_cli.live_screen import JsonLines, LiveScreen
from odradek_cli.models_told import ModelNow, read_told, since
from odradek_cli.runs_under_way import RunsUnderWay
from odradek_runtime.brokers import Brokers
from odradek_runtime.kafka_security import PLAINTEXT
from odradek_scaling.load import PoolLoad
from odradek_schemas.events import RunCancelRequested
from odradek_schemas.topics import WORKERS

PARTITIONS = 3


def gateway(calls: int, failed: int, seconds: float, tokens: int) -> str:
    return f"""# TYPE odradek_model_calls_total counter
odradek_model_calls_total{{model="m",outcome="answered"}} {calls - failed}
odradek_model_calls_total{{model="m",outcome="rate_limited"}} {failed}
# TYPE odradek_model_call_seconds histogram
odradek_model_call_seconds_sum{{model="m"}} {seconds}
# TYPE odradek_model_tokens_total counter
odradek_model_tokens_total{{model="m",kind="completion"}} {tokens}
# TYPE odradek_replica_calls gauge
odradek_replica_calls{{model="m",replica="0"}} 2
odradek_replica_calls{{model="m",replica="1"}} 1
# TYPE odradek_replica_limit_calls gauge
odradek_replica_limit_calls{{model="m",replica="0"}} 8
# TYPE odradek_replica_waiting_calls gauge
odradek_replica_waiting_calls{{model="m",replica="0"}} 5
"""


def test_a_models_rates_are_those_between_two_looks_over_all_gateways() -> None:
    before = read_told([gateway(10, 0, 5.0, 100), gateway(10, 0, 5.0, 100)])
    now = read_told([gateway(20, 2, 15.0, 300), gateway(10, 0, 5.0, 100)])
    assert since({}, before, 0.0) == {"m": ModelNow(6, 16, 10)}
    assert since(before, now, 2.0) == {"m": ModelNow(6, 16, 10, 5.0, 1.0, 100.0, 1.0)}


def test_a_gateway_that_began_anew_has_no_rates_below_zero() -> None:
    before, now = read_told([gateway(10, 0, 5.0, 100)]), read_told([gateway(1, 0, 0.5, 10)])
    assert since(before, now, 2.0) == {"m": ModelNow(3, 8, 5)}


def test_a_pools_rate_needs_two_looks() -> None:
    assert rate(None, 7, 2.0) is None
    assert rate(5, 9, 2.0) == 2.0
    assert rate(9, 5, 2.0) == 0.0


def test_runs_are_known_by_whatever_is_heard_first_and_leave_when_they_end(makes: Any) -> None:
    runs = RunsUnderWay()
    runs.hear(makes.progress(3, masked=1))
    assert runs.now() == ()
    runs.hear(makes.run("r"))
    runs.hear(makes.run("other", minutes=1))
    (first, second) = runs.now()
    assert (first.run.id, second.run.id) == ("r", "other")
    assert first.view is not None
    assert first.view.coverage == pytest.approx(2 / 3)
    assert second.view is None
    assert [now.run.id for now in runs.now("other")] == ["other"]
    runs.hear(RunCancelRequested(id="c", run_id="other", reason="enough"))
    assert runs.now("other")[0].run.status == "cancelling"
    runs.hear(makes.finish())
    runs.hear(makes.progress(4))
    assert [now.run.id for now in runs.now()] == ["other"]


def a_picture(makes: Any, **changes: Any) -> Picture:
    runs = RunsUnderWay()
    for event in (makes.run("r"), makes.progress(3, masked=1)):
        runs.hear(event)
    given: dict[str, Any] = {
        "at": datetime.now(UTC),
        "pools": {
            "env-worker": PoolNow(
                PoolLoad(pool="env-worker", backlog=40, in_flight=3, load=40, members=2), 12.5
            )
        },
        "runs": runs.now(),
        "models": {"smollm2": ModelNow(6, 16, 10, 5.0, 1.0, 100.0, 1.25)},
    }
    return Picture(**given | changes)


def test_it_is_readable_off_a_terminal_one_picture_below_the_other(
    makes: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = LiveScreen(Console(width=200))
    with screen:
        screen.show(a_picture(makes))
        screen.show(a_picture(makes, problem="Kafka at x does not answer"))
    shown = capsys.readouterr().out
    assert shown.count("env-worker") == 2
    for text in (
        "12.5",
        "3/4 done",
        "coverage 67%",
        "smollm2",
        "1.25",
        "Kafka at x does not answer (looking again)",
    ):
        assert text in shown


def test_as_json_each_look_is_one_line(makes: Any, capsys: pytest.CaptureFixture[str]) -> None:
    lines = JsonLines()
    with lines:
        lines.show(a_picture(makes))
        lines.show(a_picture(makes, problem="away"))
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["pools"]["env-worker"] == {
        "backlog": 40,
        "in_flight": 3,
        "load": 40,
        "members": 2,
        "per_second": 12.5,
        "unknown": None,
    }
    assert first["runs"][0]["progress"]["coverage"] == pytest.approx(2 / 3)
    assert (first["problem"], second["problem"]) == (None, "away")


@pytest.mark.kafka
async def test_looks_follow_the_log_while_kafka_comes_and_goes(
    world: Any, makes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: an end at the first answer that does not come; numbers of before that look like those of now."""
    asked: list[int] = []

    def find() -> Deployment:
        asked.append(1)
        real = find_deployment()
        away = Deployment(Brokers("127.0.0.1:9", PLAINTEXT), real.prefix, PARTITIONS, real.blob_store)
        return away if len(asked) == 1 else real

    await asyncio.to_thread(world.write, makes.run("r"), makes.progress(1))
    async with aclosing(pictures(find, None, 10, 60.0, 0.01)) as looks:
        first = await anext(looks)
        assert "127.0.0.1:9" in (first.problem or "")
        second = await anext(looks)
        assert second.problem is None
        assert second.pools.keys() == set(WORKERS)
        assert second.pools["task-producer"].per_second is None
        assert [(now.run.id, now.view and now.view.finished) for now in second.runs] == [("r", 1)]
        waiting = PoolLoad(pool="task-producer", backlog=2, in_flight=0, load=2, members=0)
        async with asyncio.timeout(60):
            while (await anext(looks)).pools["task-producer"].load != waiting:
                pass
        await asyncio.to_thread(world.write, makes.progress(3))
        async with asyncio.timeout(60):
            while (await anext(looks)).runs[0].view.finished != 3:
                pass
        await asyncio.to_thread(world.write, makes.finish())
        async with asyncio.timeout(60):
            while (look := await anext(looks)).runs:
                pass
        assert look.pools["task-producer"].per_second == 0.0


@pytest.mark.kafka
async def test_a_run_that_there_is_not_ends_it(world: Any) -> None:
    async with aclosing(pictures(find_deployment, "nobody", 10, 60.0, 0.01)) as looks:
        with pytest.raises(CliError) as raised:
            await anext(looks)
    assert raised.value.code is Exit.INVALID_INPUT
