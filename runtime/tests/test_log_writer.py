"""Single events beside the transactions: in the log when they are written, seen by who follows, or said to be lost."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from runtime_lab import until

from odradek_local.testing import create_topics
from odradek_runtime.blobs import FileBlobStore
from odradek_runtime.brokers import Brokers
from odradek_runtime.intake import Intake
from odradek_runtime.log_follower import LogFollower
from odradek_runtime.log_writer import LogWriter, NotWrittenError
from odradek_runtime.names import Names
from odradek_schemas.events import Event, ModelAccessEnded

TOPIC = "model-access"


def ended(number: int, reason: str = "enough") -> ModelAccessEnded:
    return ModelAccessEnded(
        id=f"run/{number}/0/1/1/access-ended",
        run_id="run",
        rollout_id=f"run/{number}/0",
        program_id=f"run/{number}/0/1/1",
        reason=reason,
        expires=datetime.now(UTC) + timedelta(hours=1),
    )


@pytest.mark.kafka
async def test_a_follower_sees_what_was_there_and_what_comes(kafka: str, prefix: str, tmp_path: Path) -> None:
    await create_topics(kafka, prefix, 2, TOPIC)
    names, blobs = Names(prefix), FileBlobStore(tmp_path)
    writer = LogWriter(Brokers(kafka), "test", names, blobs, 10)
    seen: list[Event] = []
    follower = LogFollower(Brokers(kafka), names, TOPIC, Intake("test", blobs), seen.append)
    await writer.start()
    try:
        await writer.write(TOPIC, ended(0), 0)
        await writer.write(TOPIC, ended(1, "x" * 300_000), 1)
        await follower.start(2, datetime.now(UTC) - timedelta(hours=1), 20)
        assert {event.rollout_id for event in seen} == {"run/0/0", "run/1/0"}
        assert max(len(event.reason) for event in seen if isinstance(event, ModelAccessEnded)) == 300_000
        await writer.write(TOPIC, ended(2), 1)
        await until(lambda: len(seen) == 3)
        late: list[Event] = []
        young = LogFollower(Brokers(kafka), names, TOPIC, Intake("test", blobs), late.append)
        await young.start(2, datetime.now(UTC) + timedelta(hours=1), 20)
        await young.stop()
        assert late == []
    finally:
        await follower.stop()
        await writer.stop()


@pytest.mark.kafka
async def test_what_the_log_does_not_take_is_said(kafka: str, prefix: str, tmp_path: Path) -> None:
    """There is no such topic: nobody may take the event for written."""
    writer = LogWriter(Brokers(kafka), "test", Names(prefix), FileBlobStore(tmp_path), 1)
    await writer.start()
    try:
        with pytest.raises(NotWrittenError, match="run/0/0/1/1/access-ended"):
            await writer.write(TOPIC, ended(0), 0)
    finally:
        await asyncio.wait_for(writer.stop(), 20)
