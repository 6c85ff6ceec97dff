"""`odradek audit` on a real broker: the log of a healthy run, played by the workers' own rules, as it is and damaged."""

import asyncio
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.structs import TopicPartition

from odradek_cli.auditing import audit_runs
from odradek_cli.deployment import find_deployment
from odradek_cli.errors import Exit
from odradek_runtime.blobs import open_blob_store
from odradek_runtime.partitioning import partition_of
from odradek_schemas.codec import encode
from odradek_schemas.events import Event
from odradek_schemas.topics import TASKS
from tests.support.played_run import PlayedRun, Raw, Troubles, play_run

pytestmark = pytest.mark.kafka

PARTITIONS = 3
RUN = "run"


@cache
def played() -> PlayedRun:
    troubles = Troubles(model_fails=12, tool_breaks=8, answer_is_late=25, worker_dies=9)
    return play_run(3, tasks=8, samples=3, partitions=PARTITIONS, troubles=troubles, markers=False)


def write(world: Any, run: PlayedRun, *, ended: bool = True) -> None:
    """Write a run's log; records have the offsets that they name each other by, so each goes to its topic's end."""
    asyncio.run(_write(world, run, ended))


async def _write(world: Any, run: PlayedRun, ended: bool) -> None:
    async with AIOKafkaProducer(bootstrap_servers=world.bootstrap) as producer:
        await _send(producer, world, "runs", run.requested)
        for records in run.partitions:
            for raw in records:
                await _send_raw(producer, world, raw)
        if ended:
            await _send(producer, world, "runs", run.finished)
        await producer.flush()


async def _send(producer: AIOKafkaProducer, world: Any, topic: str, event: Event) -> None:
    record = encode(event, "test")
    where = partition_of(RUN, PARTITIONS)
    await producer.send_and_wait(
        world.prefix + topic, record.value, record.key, where, headers=list(record.headers)
    )


async def _send_raw(producer: AIOKafkaProducer, world: Any, raw: Raw) -> None:
    topic = world.prefix + raw.place.topic
    moment = int(raw.time.timestamp() * 1000)
    await producer.send(
        topic, raw.value, raw.key, raw.place.partition, timestamp_ms=moment, headers=list(raw.headers)
    )


def damaged(run: PlayedRun, partition: int, records: list[Raw]) -> PlayedRun:
    partitions = [records if p == partition else given for p, given in enumerate(run.partitions)]
    return replace(run, partitions=partitions)


def test_a_healthy_run_is_clean(world: Any, odradek: Any) -> None:
    write(world, played())
    done = odradek("audit", RUN)
    assert done.exit_code == Exit.OK, done.output
    records = sum(map(len, played().partitions))
    assert (
        f"run: clean (the run is finished; 24 rollouts planned, 24 rewarded; {records:,} records"
        in done.stdout
    )
    found = json.loads(odradek("audit", "--json").stdout)
    assert (found["verdict"], found["records"], found["violations"]) == ("clean", records, [])
    assert all(invariant["violations"] == 0 for invariant in found["invariants"])
    assert {i["name"] for i in found["invariants"] if not i["checked"]} == {"readable"}


def test_a_damaged_run_is_refuted_with_the_records(world: Any, odradek: Any) -> None:
    """The last reward of a partition is lost, and the last trajectory of another comes twice."""
    run = played()
    lost = [raw for raw in run.partitions[0] if raw.place.topic == "rewards"][-1]
    run = damaged(run, 0, [raw for raw in run.partitions[0] if raw is not lost])
    double = [raw for raw in run.partitions[1] if raw.place.topic == "trajectories"][-1]
    again = double.place._replace(offset=double.place.offset + 1)
    run = damaged(run, 1, [*run.partitions[1], double])
    write(world, run)
    done = odradek("audit", RUN)
    assert done.exit_code == Exit.REFUTED, done.output
    assert f"trajectory: {double.key.decode()}: " in done.stdout
    assert str(again) in done.stdout
    assert f"reward: {lost.key.decode()}: the rollout has no primary reward" in done.stdout
    found = json.loads(odradek("audit", RUN, "--json").stdout)
    wrong = {i["name"]: i["violations"] for i in found["invariants"] if i["violations"]}
    assert wrong.keys() == {"trajectory", "reward", "end"}
    (twice,) = [v for v in found["violations"] if v["invariant"] == "trajectory"]
    assert again._asdict() in twice["records"]


def test_a_run_under_way_is_told_as_such(world: Any, odradek: Any) -> None:
    run = played()
    half = replace(run, partitions=[records[: len(records) // 2] for records in run.partitions])
    write(world, half, ended=False)
    done = odradek("audit", RUN)
    assert done.exit_code == Exit.UNFINISHED, done.output
    assert "run: incomplete (the run has not ended" in done.stdout
    assert "rollouts under way: " in done.stdout
    assert json.loads(odradek("audit", RUN, "--json").stdout)["status"] == "running"


def test_large_values_are_read_from_the_blob_store(world: Any, odradek: Any, tmp_path: Path) -> None:
    """And a blob that is gone is a violation."""

    def referring(raw: Raw) -> Raw:
        reference = asyncio.run(open_blob_store((tmp_path / "blobs").as_uri()).put(raw.value))
        return raw._replace(value=b"", headers=(*raw.headers, ("ce_dataref", reference.encode())))

    run = played()
    large = [referring(raw) if raw.place.topic == "trajectories" else raw for raw in run.partitions[0]]
    write(world, damaged(run, 0, large))
    assert odradek("audit", RUN).exit_code == Exit.OK
    gone = next((tmp_path / "blobs").rglob("*.zst"))
    gone.unlink()
    done = odradek("audit", RUN, "--json")
    assert done.exit_code == Exit.REFUTED
    (unread,) = [v for v in json.loads(done.stdout)["violations"] if v["invariant"] == "readable"]
    assert unread["records"][0]["topic"] == "trajectories"


def test_of_a_purged_run_what_is_kept_long_is_audited(world: Any, odradek: Any) -> None:
    write(world, played())
    asyncio.run(_purge(world))
    done = odradek("audit", RUN)
    assert done.exit_code == Exit.OK, done.output
    assert "not all could be checked: old records of tasks are deleted" in done.stdout


async def _purge(world: Any) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=world.bootstrap)
    await admin.start()
    try:
        await admin.delete_records(
            {TopicPartition(world.prefix + TASKS.name, p): RecordsToDelete(2) for p in range(PARTITIONS)}
        )
    finally:
        await admin.close()


def test_an_unknown_run_is_said_to_be_unknown(world: Any, odradek: Any) -> None:
    for arguments in (["audit", "nope"], ["audit"]):
        done = odradek(*arguments)
        assert done.exit_code == Exit.INVALID_INPUT
        assert "no run" in done.stderr
    assert json.loads(odradek("audit", "--all", "--json").stdout) == []
    assert odradek("audit", "x", "--all").exit_code == Exit.USAGE


async def test_all_runs_are_audited_in_one_pass(world: Any) -> None:
    await _write(world, played(), True)
    (report,) = await audit_runs(find_deployment(), None)
    assert (report.run_id, report.refuted) == (RUN, False)
