"""`odradek status` on the real broker, with no worker alive: all that it tells is in the log."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.structs import OffsetAndMetadata, TopicPartition

from odradek_cli.deployment import find_deployment
from odradek_cli.errors import Exit
from odradek_cli.kafka import open_log
from odradek_runtime.partitioning import partition_of
from odradek_schemas.events import (
    Event,
    JournalAppended,
    ModelCallCompleted,
    ModelCallRequested,
    RolloutEnded,
    RolloutRequested,
    SessionRequested,
)
from odradek_schemas.events.journal import RequestPrint
from odradek_schemas.messages import Message, Usage
from odradek_schemas.rollouts import Group, Limits, RolloutStatus

pytestmark = pytest.mark.kafka

PARTITIONS = 3


def names(rollout: str) -> dict[str, str]:
    return {"run_id": rollout.partition("/")[0], "rollout_id": rollout}


def asked(
    rollout: str, *, session: bool = False, seconds_ago: float = 0.0, **limits: float
) -> RolloutRequested:
    return RolloutRequested(
        id=rollout,
        **names(rollout),
        time=datetime.now(UTC) - timedelta(seconds=seconds_ago),
        environment="mcqa",
        harness="single_turn",
        model="m",
        seed=1,
        task={},
        messages=[Message(role="user", content="hello")],
        group=Group(task_id=rollout.rpartition("/")[0], size=1),
        sample=0,
        session=session,
        limits=Limits(**limits),  # type: ignore[arg-type]
    )


def journal(rollout: str, accepted: Any, request: str) -> JournalAppended:
    prints = [RequestPrint(id=request, fingerprint="f")]
    time = accepted.time
    return JournalAppended(
        id=f"{rollout}/journal/0", **names(rollout), time=time, sequence=0, input=accepted, requests=prints
    )


def waiting_for_a_model(rollout: str, **asking: Any) -> list[Event]:
    begun = asked(rollout, **asking)
    call = ModelCallRequested(
        id=f"{rollout}/1/1",
        **names(rollout),
        time=begun.time,
        model="m",
        messages=begun.messages,
        deadline=datetime.now(UTC),
    )
    return [journal(rollout, begun, call.id), call]


def waiting_for_a_session(rollout: str) -> list[Event]:
    begun = asked(rollout, session=True)
    session: dict[str, Any] = {**names(rollout), "session_id": f"{rollout}/1"}
    request = SessionRequested(
        id=f"{rollout}/1/open", **session, environment="e", task={}, seed=1, timeout_seconds=120
    )
    return [journal(rollout, begun, request.id), request]


def status(odradek: Any, *arguments: str) -> Any:
    done = odradek("status", *arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_it_names_what_each_rollout_waits_for_and_who_should_act(
    world: Any, makes: Any, odradek: Any
) -> None:
    world.write(
        makes.run("r"),
        asked("r/9/0"),
        *waiting_for_a_model("r/0/0"),
        *waiting_for_a_session("r/1/0"),
        journal("r/2/0", asked("r/2/0"), "r/2/0/1/1"),
        *waiting_for_a_model("r/3/0"),
        RolloutEnded(id="r/3/0/ended", **names("r/3/0"), status=RolloutStatus.COMPLETED),
        makes.trajectory("r/4/0"),
        makes.reward(5, 0, 1.0),
        *waiting_for_a_model("other/0/0"),
    )
    found = status(odradek, "r")
    waits = {wait["rollout_id"]: (wait["kind"], wait["on"], wait["who"]) for wait in found["waits"]}
    assert waits == {
        "r/9/0": ("admission", "r/9/0", "agent-worker"),
        "r/0/0": ("model call", "r/0/0/1/1", "model-gateway"),
        "r/1/0": ("session opening", "r/1/0/1/open", "env-worker"),
        "r/2/0": ("timer", "r/2/0/1/1", "agent-worker"),
        "r/4/0": ("verification", "r/4/0", "verifier-worker"),
        "r/5/0": ("counting", "r/5/0", "task-producer"),
    }
    assert found["waiting"] == {"admission": 1, "play": 3, "verification": 1, "counting": 1}
    assert found["run"] == {"run_id": "r", "status": "requested"}
    assert set(map(len, found["workers"].values())) == {0}
    place = partition_of("r/0/0", PARTITIONS)
    model = next(wait for wait in found["waits"] if wait["rollout_id"] == "r/0/0")
    assert model["state"] == f"no model-gateway owns partition {place}"
    assert ("model-gateway", "model-calls", place) in {
        (stalled["worker"], stalled["topic"], stalled["partition"]) for stalled in found["stalled"]
    }
    assert {wait["rollout_id"] for wait in status(odradek)["waits"]} == {*waits, "other/0/0"}


def test_it_is_readable_and_tells_the_longest_waits_first(world: Any, makes: Any, odradek: Any) -> None:
    world.write(
        makes.run("r"),
        *waiting_for_a_model("r/0/0"),
        *waiting_for_a_model("r/1/0", seconds_ago=100, model_seconds=40.0),
    )
    done = odradek("status", "r", "--limit", "1")
    assert done.exit_code == 0, done.output
    assert "run r: requested" in done.stdout
    assert "play 2" in done.stdout
    assert "r/1/0" in done.stdout
    assert "r/0/0" not in done.stdout
    assert "overdue by" in done.stdout
    assert "no model is asked" in done.stdout


def test_the_deadline_is_the_earlier_of_the_calls_and_the_rollouts(
    world: Any, makes: Any, odradek: Any
) -> None:
    world.write(
        makes.run("r"),
        *waiting_for_a_model("r/0/0", model_seconds=50.0),
        *waiting_for_a_model("r/1/0", model_seconds=50.0, rollout_seconds=30.0),
        *waiting_for_a_model("r/2/0", model_seconds=50.0, seconds_ago=90),
    )
    found = {wait["rollout_id"]: wait for wait in status(odradek, "r")["waits"]}
    lasts = {
        rollout: datetime.fromisoformat(wait["deadline"]) - datetime.fromisoformat(wait["since"])
        for rollout, wait in found.items()
    }
    assert lasts == {
        "r/0/0": timedelta(seconds=50),
        "r/1/0": timedelta(seconds=30),
        "r/2/0": timedelta(seconds=50),
    }
    assert [rollout for rollout, wait in found.items() if wait["overdue"]] == ["r/2/0"]
    assert found["r/2/0"]["who"] == "agent-worker", "it is to give the call up"


def test_an_answer_that_nobody_accepted_waits_for_the_agent_worker(
    world: Any, makes: Any, odradek: Any
) -> None:
    answer = ModelCallCompleted(
        id="r/0/0/1/1/completed",
        **names("r/0/0"),
        call_id="r/0/0/1/1",
        model="m",
        message=Message(role="assistant", content="hi"),
        finish_reason="stop",
        usage=Usage(),
        latency_ms=1.0,
    )
    world.write(makes.run("r"), *waiting_for_a_model("r/0/0"), answer)
    (wait,) = status(odradek, "r")["waits"]
    assert (wait["who"], wait["state"]) == ("agent-worker", "answered, not accepted yet")


def test_the_journal_is_read_from_the_restore_point(world: Any, makes: Any, odradek: Any) -> None:
    """So that the time it takes does not grow with a run: what is before is never looked at."""
    place = partition_of("r/0/0", PARTITIONS)
    world.write(makes.run("r"))
    world.write_raw(
        "journal",
        place,
        b"not even JSON",
        [("ce_type", b"JournalAppended"), ("ce_id", b"x"), ("ce_runid", b"r")],
    )
    begin = asyncio.run(end_of(f"{world.prefix}journal", place))
    world.write(*waiting_for_a_model("r/0/0"))
    assert "journal" in odradek("status", "r").stderr, "without a restore point it is read from its beginning"
    asyncio.run(commit(world, "agent-worker", TopicPartition(f"{world.prefix}tasks", place), 0, f"r:{begin}"))
    done = odradek("status", "r", "--json")
    assert done.stderr == ""
    assert [wait["rollout_id"] for wait in json.loads(done.stdout)["waits"]] == ["r/0/0"]


def test_a_broker_that_is_away_is_told(odradek: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", "127.0.0.1:9")
    done = odradek("status")
    assert done.exit_code == Exit.NO_STACK
    assert "Kafka at 127.0.0.1:9" in done.stderr


async def end_of(topic: str, partition: int) -> int:
    place = TopicPartition(topic, partition)
    async with open_log(find_deployment()) as log:
        logical = topic.removeprefix(log.deployment.prefix)
        return (await log.bounds([(logical, place.partition)]))[logical, place.partition][1]


async def commit(world: Any, worker: str, place: TopicPartition, offset: int, metadata: str) -> None:
    """Commit as a worker of this kind would."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=world.bootstrap, group_id=f"{world.prefix}{worker}", enable_auto_commit=False
    )
    await consumer.start()
    try:
        consumer.assign([place])
        await consumer.commit({place: OffsetAndMetadata(offset, metadata)})
    finally:
        await consumer.stop()


def test_a_state_that_is_damaged_is_told(
    odradek: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ODRADEK_BOOTSTRAP_SERVERS", raising=False)
    monkeypatch.setenv("ODRADEK_DATA_DIR", str(tmp_path))
    (tmp_path / "state.json").write_text("{")
    done = odradek("status")
    assert (done.exit_code, "state.json can't be read; remove it" in done.stderr) == (Exit.NO_STACK, True)


def test_a_data_directory_that_is_none_is_told(
    odradek: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ODRADEK_DATA_DIR", str(tmp_path / "file"))
    done = odradek("up")
    assert (done.exit_code, "see ODRADEK_DATA_DIR" in done.stderr) == (Exit.NO_STACK, True)
