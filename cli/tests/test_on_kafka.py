"""The commands on a real broker: what the services would write is written, and read through the command line."""

import asyncio
import json
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from odradek_cli.commands import watch as watch_command
from odradek_cli.deployment import find_deployment
from odradek_cli.errors import Exit
from odradek_cli.kafka import Found, open_log
from odradek_runtime.blobs import FileBlobStore, open_blob_store, reference_of
from odradek_runtime.partitioning import partition_of
from odradek_schemas.codec import encode, with_reference
from odradek_schemas.events import (
    BadRow,
    JournalAppended,
    RescoreCounts,
    RescoreFinished,
    RescoreRequested,
    RunStatus,
    TimerFired,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.topics import RUNS, TOPICS, Topic

pytestmark = pytest.mark.kafka

PARTITIONS, GROWN = 3, 7


def read(topic: Topic) -> list[Any]:
    """What is on a topic."""
    return [found.event for found in found_on(topic)]


def found_on(topic: Topic) -> list[Found]:
    """The same, and where it lies."""

    async def scan() -> list[Found]:
        async with open_log(find_deployment()) as log:
            return await log.scan(topic)

    return asyncio.run(scan())


def finished_run(makes: Any) -> list[Any]:
    return [
        makes.run(samples=2),
        makes.progress(1, reward_sum=1.0),
        makes.reward(0, 0, 1.0),
        makes.reward(0, 1, 0.0),
        makes.reward(1, 0, 1.0),
        makes.reward(1, 1, None),
        makes.reward(0, 0, 0.0, scoring="again"),
        makes.trajectory("r/0/0"),
        makes.finish(planned=4, counts=makes.counts(4, reward_sum=2.0, masked=1)),
    ]


def test_results_are_those_of_the_first_scoring(world: Any, makes: Any, odradek: Any) -> None:
    world.write(*finished_run(makes), makes.run("other"), makes.reward(0, 0, 0.0, run_id="other"))
    done = odradek("results", "r", "--rollouts")
    assert done.exit_code == 0, done.output
    assert "4 of 4 planned finished, 3 scored (coverage 75%; missing ones are left out)" in done.stdout
    assert re.search(r"mean reward +0.667, 95% interval .*; 1 of 4 rollouts missing, left out", done.stdout)
    assert "rate_limited 1" in done.stdout
    assert re.search(r"r/1/1 +- +failed +rate_limited", done.stdout)
    found = json.loads(odradek("results", "r", "--json").stdout)
    assert [r["reward"] for r in found["rollouts"]] == [1.0, 0.0, 1.0, None]
    assert found["duplicates"] == 0


def test_results_are_of_the_last_run_by_default(world: Any, makes: Any, odradek: Any) -> None:
    world.write(makes.run("older"), makes.run("newer", minutes=1), makes.reward(0, 0, 1.0, run_id="newer"))
    found = json.loads(odradek("results", "--json").stdout)
    assert found["run_id"] == "newer"
    assert found["planned"] is None


def test_runs_are_listed_with_how_far_they_are(world: Any, makes: Any, odradek: Any) -> None:
    world.write(
        *finished_run(makes), makes.run("going", minutes=1), makes.progress(2, run_id="going", reward_sum=1.0)
    )
    found = {run["run_id"]: run for run in json.loads(odradek("runs", "--json").stdout)}
    assert list(found) == ["r", "going"]
    assert found["r"]["status"] == "finished"
    assert (found["going"]["status"], found["going"]["finished"], found["going"]["planned"]) == (
        "running",
        2,
        4,
    )
    assert re.search(r"going +mcqa +smollm2 .* running +2/4 +0.500", odradek("runs").stdout)
    assert len(json.loads(odradek("runs", "--json", "--limit", "1").stdout)) == 1


def test_show_prints_the_whole_rollout_and_its_rewards(world: Any, makes: Any, odradek: Any) -> None:
    world.write(*finished_run(makes))
    done = odradek("show", "r/0/0")
    assert done.exit_code == 0, done.output
    for part in (
        "What is the weather in Prague?",
        "I should look.",
        '-> get_weather({"city": "Prague"})',
        "Rain.",
        "It rains.",
        "[bold]not markup[/bold]",
        "2 turns, 114 tokens",
        "mcqa abc123",
        "reward of scoring again",
    ):
        assert part in done.stdout
    found = json.loads(odradek("show", "r/0/0", "--json").stdout)
    assert found["trajectory"]["status"] == "completed"
    assert [reward["scoring"] for reward in found["rewards"]] == ["primary", "again"]


def test_show_of_a_rollout_under_way_is_its_journal(world: Any, makes: Any, odradek: Any) -> None:
    ids: dict[str, Any] = {"id": "r/0/0", "run_id": "r", "rollout_id": "r/0/0"}
    world.write(makes.run(), JournalAppended(**ids, sequence=0, input=TimerFired(**ids, timer="rollout")))
    done = odradek("show", "r/0/0")
    assert "under way" in done.stdout
    assert "TimerFired" in done.stdout
    assert "no reward yet" in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        ["results", "nope"],
        ["watch", "nope"],
        ["cancel", "nope"],
        ["show", "nope/0/0"],
        ["show", "nope"],
        ["results"],
    ],
)
def test_what_is_not_in_the_log_is_named(world: Any, odradek: Any, command: list[str]) -> None:
    done = odradek(*command)
    assert done.exit_code == Exit.INVALID_INPUT
    assert done.stderr.startswith("error: ")
    assert "next: " in done.stderr


def test_watch_of_a_run_that_ended_prints_its_results(world: Any, makes: Any, odradek: Any) -> None:
    world.write(*finished_run(makes))
    done = odradek("watch", "r")
    assert done.exit_code == 0, done.output
    assert "coverage 75%" in done.stdout


@pytest.mark.parametrize("status", [RunStatus.CANCELLED, RunStatus.FAILED])
def test_a_run_that_did_not_finish_is_told_by_the_exit_code(
    world: Any, makes: Any, odradek: Any, status: RunStatus
) -> None:
    failure = Failure(kind=FailureKind.INVALID_DATASET, stage=Stage.PLAN, message="bad rows")
    bad = [BadRow(line=3, field="task.question", reason="Field required")]
    world.write(makes.run(), makes.finish(planned=0, status=status, failure=failure, bad_rows=bad))
    done = odradek("watch", "r")
    assert done.exit_code == Exit.RUN_FAILED
    assert "tasks.jsonl:3: task.question: Field required" in done.stdout


def test_watch_has_a_deadline(world: Any, makes: Any, odradek: Any) -> None:
    world.write(makes.run())
    done = odradek("watch", "r", "--timeout", "1")
    assert done.exit_code == Exit.NO_STACK
    assert "did not end within 1 s" in done.stderr


def act_when_asked(act: Callable[[Any], None]) -> threading.Thread:
    """A task-producer for one run: waits for its request, then does `act(request)`."""

    def wait() -> None:
        for _ in range(100):
            requests = [event for event in read(RUNS) if event.type == "RunRequested"]
            if requests:
                act(requests[0])
                return

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_run_uploads_asks_watches_and_reports(world: Any, makes: Any, odradek: Any, tmp_path: Path) -> None:
    def play(request: Any) -> None:
        run = request.run_id
        world.write(makes.progress(1, planned=6, run_id=run, reward_sum=1.0, tokens=20))
        world.write(
            makes.reward(0, 0, 1.0, run_id=run),
            makes.reward(1, 0, 0.0, run_id=run),
            makes.finish(planned=6, run_id=run),
        )

    producer = act_when_asked(play)
    done = odradek(
        *[
            "run",
            "mcqa",
            "--model",
            "smollm2",
            "--samples",
            "3",
            "--limit",
            "2",
            "--concurrency",
            "5",
            "--seed",
            "9",
        ],
        *["--harness", "single_turn", "--temperature", "0.5", "--max-tokens", "99", "--max-turns", "4"],
        *["--demand", "0"],
    )
    producer.join()
    assert done.exit_code == 0, done.output
    assert "2 of 6 planned finished, 2 scored (coverage 33%; missing ones are left out)" in done.stdout
    assert "6/6 done, 0 in flight" in done.stderr
    (request,) = read(RUNS)[:1]
    assert re.fullmatch(r"mcqa-\d{4}-\d{6}-\w\w", request.run_id)
    assert (request.samples, request.limit, request.concurrency, request.seed) == (3, 2, 5, 9)
    assert (request.harness, request.sampling.temperature, request.sampling.max_tokens) == (
        "single_turn",
        0.5,
        99,
    )
    assert request.limits.max_turns == 4
    assert request.demand == 0
    reference = reference_of(request.dataset.uri)
    assert reference is not None
    content = asyncio.run(open_blob_store((tmp_path / "blobs").as_uri()).get(reference))
    assert len(content.splitlines()) == 2


def test_detached_runs_are_asked_for_and_left_alone(world: Any, odradek: Any) -> None:
    done = odradek("run", "mcqa", "--model", "m", "--detach")
    assert done.exit_code == 0
    (request,) = read(RUNS)
    assert done.stdout == f"{request.run_id}\n"
    assert json.loads(odradek("run", "mcqa", "--model", "m", "--detach", "--json").stdout)["run_id"]


def test_programs_of_ones_own_are_told_where_the_deployment_is(world: Any, odradek: Any) -> None:
    told = odradek("env").stdout.splitlines()
    assert f"export ODRADEK_BOOTSTRAP_SERVERS={world.bootstrap}" in told
    assert f"export ODRADEK_TOPIC_PREFIX={world.prefix}" in told


def interrupt_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first watch is interrupted, as by Ctrl-C; later ones go on."""
    real = watch_command._watch
    seen: list[bool] = []

    async def watch(*arguments: Any) -> Any:
        if not seen:
            seen.append(True)
            raise KeyboardInterrupt
        return await real(*arguments)

    monkeypatch.setattr(watch_command, "_watch", watch)


@pytest.mark.parametrize(
    "choice", [["--on-interrupt", "detach"], []], ids=["detach", "no terminal to ask on"]
)
def test_an_interrupted_watch_lets_the_run_go_on(
    world: Any, makes: Any, odradek: Any, monkeypatch: pytest.MonkeyPatch, choice: list[str]
) -> None:
    world.write(makes.run())
    interrupt_once(monkeypatch)
    done = odradek("watch", "r", *choice)
    assert done.exit_code == Exit.INTERRUPTED
    assert "odradek watch r" in done.stderr
    assert [event.type for event in read(RUNS)] == ["RunRequested"]


def test_an_interrupted_watch_can_cancel_and_keeps_what_was_done(
    world: Any, makes: Any, odradek: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write(makes.run(), makes.reward(0, 0, 1.0))
    interrupt_once(monkeypatch)

    def stop() -> None:
        while not any(event.type == "RunCancelRequested" for event in read(RUNS)):
            pass
        world.write(makes.finish(status=RunStatus.CANCELLED))

    producer = threading.Thread(target=stop)
    producer.start()
    done = odradek("watch", "r", "--on-interrupt", "cancel")
    producer.join()
    assert done.exit_code == Exit.RUN_FAILED
    assert "1 of 4 planned finished" in done.stdout


def test_cancel_asks_once_and_says_when_it_is_too_late(world: Any, makes: Any, odradek: Any) -> None:
    world.write(makes.run())
    assert odradek("cancel", "r", "--reason", "enough").exit_code == 0
    assert [event.reason for event in read(RUNS) if event.type == "RunCancelRequested"] == ["enough"]
    assert json.loads(odradek("runs", "--json").stdout)[0]["status"] == "cancelling"
    world.write(makes.finish(status=RunStatus.CANCELLED))
    assert "already ended: cancelled" in odradek("cancel", "r").stdout
    assert sum(event.type == "RunCancelRequested" for event in read(RUNS)) == 1


def test_large_values_are_read_from_the_blob_store(
    world: Any, makes: Any, odradek: Any, tmp_path: Path
) -> None:
    world.write(makes.run())
    place = asyncio.run(_partition("r/0/0"))
    record = encode(makes.trajectory("r/0/0"), "test")
    assert record.value is not None
    reference = asyncio.run(FileBlobStore(tmp_path / "blobs").put(record.value))
    world.write_raw("trajectories", place, b"", list(with_reference(record, reference).headers))
    assert "It rains." in odradek("show", "r/0/0").stdout


def test_records_that_can_not_be_read_are_told_and_skipped(world: Any, makes: Any, odradek: Any) -> None:
    world.write(*finished_run(makes))
    cut = encode(makes.reward(1, 1, 0.5), "test")
    world.write_raw("rewards", 0, b'{"type": "Rew', list(cut.headers))
    gone = with_reference(cut, "long/2026-11-29/sha256:" + "0" * 64)
    world.write_raw("rewards", 0, b"", list(gone.headers))
    done = odradek("results", "r")
    assert done.exit_code == 0
    assert f"{world.prefix}rewards[0]@" in done.stderr
    assert "(and 1 more)" in done.stderr
    assert "3 scored" in done.stdout


def test_topics_are_compared_and_created(kafka: str, prefix: str, odradek: Any) -> None:
    to = ["--bootstrap", kafka, "--prefix", prefix, "--partitions", "2"]
    missing = odradek("topics", "diff", *to, "--json")
    assert missing.exit_code == Exit.SOMETHING_MISSING
    assert {d["topic"] for d in json.loads(missing.stdout)} == {prefix + topic.name for topic in TOPICS}
    assert odradek("topics", "apply", *to).exit_code == 0
    again = odradek("topics", "diff", *to)
    assert again.exit_code == 0
    assert "as declared" in again.stdout
    other = odradek("topics", "apply", "--bootstrap", kafka, "--prefix", prefix, "--partitions", "3")
    assert other.exit_code == Exit.NO_STACK
    assert "`odradek topics grow --partitions 3`" in other.stderr


def test_after_partitions_were_added_old_and_new_are_found(world: Any, makes: Any, odradek: Any) -> None:
    old, new = makes.trajectory("r/0/0"), makes.trajectory("r/1/0")
    world.write(makes.run(), old, makes.reward(0, 0, 1.0), makes.progress(1, reward_sum=1.0))
    foreseen = odradek("topics", "grow", "--partitions", str(GROWN), "--dry-run")
    assert f"tasks: would get {GROWN} partitions" in foreseen.stdout
    assert "tasks: has" not in foreseen.stdout
    grown = odradek("topics", "grow", "--partitions", str(GROWN))
    assert (
        f"set ODRADEK_PARTITIONS={GROWN} and start again, in this order: model-gateway (0 alive)"
        in grown.stdout
    )
    again = odradek("topics", "grow", "--partitions", str(GROWN))
    assert again.stdout == f"all topics have {GROWN} partitions\n"
    assert json.loads(odradek("topics", "grow", "--partitions", str(GROWN), "--json").stdout)["grown"] == []
    less = odradek("topics", "grow", "--partitions", "1")
    assert less.exit_code == Exit.NO_STACK
    assert "never takes partitions away" in less.stderr
    assert odradek("topics", "diff").exit_code == Exit.SOMETHING_MISSING

    world.write_as_of(GROWN, new, makes.reward(1, 0, 0.0))
    for rollout in ("r/0/0", "r/1/0"):
        assert odradek("show", rollout).exit_code == 0
    results = json.loads(odradek("results", "r", "--json").stdout)
    assert sorted(reward["reward"] for reward in results["rollouts"]) == [0.0, 1.0]
    assert odradek("cancel", "r").exit_code == 0
    (asked,) = [found for found in found_on(RUNS) if found.event.type == "RunCancelRequested"]
    assert asked.place.partition == partition_of("r", PARTITIONS)


def test_missing_topics_are_named(
    kafka: str, prefix: str, odradek: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", kafka)
    monkeypatch.setenv("ODRADEK_TOPIC_PREFIX", prefix)
    done = odradek("runs")
    assert done.exit_code == Exit.NO_STACK
    assert f"{prefix}runs" in done.stderr
    assert "odradek topics apply" in done.stderr


async def _partition(key: str) -> int:
    async with open_log(find_deployment()) as log:
        return log.home(key)


def test_a_re_score_of_an_environment_begins_with_the_log(world: Any, makes: Any, odradek: Any) -> None:
    world.write(makes.trajectory(), makes.reward(0, 0, 1.0))
    done = odradek("rescore", "--environment", "mcqa", "--dry-run", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["trajectories"] == 1
    assert [(span["start"], span["end"] > 0) for span in told["ranges"].values()] == [(0, True)]


def test_a_re_score_takes_nothing_from_before_its_time(world: Any, makes: Any, odradek: Any) -> None:
    world.write(makes.trajectory(), makes.reward(0, 0, 1.0))
    since = (datetime.now(UTC) + timedelta(minutes=1)).isoformat()
    done = odradek("rescore", "--since", since, "--dry-run", "--json")
    assert json.loads(done.stdout)["trajectories"] == 0, done.output


def test_a_re_score_that_is_asked_for_again_later_tells_the_same(
    world: Any, makes: Any, odradek: Any
) -> None:
    """`1h` is another moment then: what was scored before is not news for that."""
    asked = makes.start - timedelta(days=2)
    first = makes.reward(0, 0, 1.0)
    named: dict[str, Any] = {"rescore_id": "again", "partition": first.trajectory.partition, "time": asked}
    request = RescoreRequested(id="again/0/0", start=0, end=1, **named)
    finished = RescoreFinished(id="again/0/finished", counts=RescoreCounts(scored=1), **named)
    world.write_at(asked, first, request, finished)
    world.write(makes.reward(0, 0, 0.0, scoring="again"))
    done = odradek("rescore", "--since", "1h", "--id", "again", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["counts"]["changed"] == 1
