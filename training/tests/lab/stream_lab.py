"""What the tests of streams stand on: events as the services would write them, and a deployment on the real broker."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.new_partitions import NewPartitions
from aiokafka.structs import TopicPartition

from odradek_runtime.blobs import open_blob_store
from odradek_runtime.brokers import Brokers
from odradek_runtime.log_reader import log_bounds, read_log
from odradek_runtime.partitioning import partition_of
from odradek_schemas.codec import encode, with_reference
from odradek_schemas.events import (
    Dataset,
    Event,
    PartitionsAdded,
    PolicyUpdated,
    RecordCoordinates,
    RewardAssigned,
    RunFinished,
    RunImported,
    RunRequested,
    RunStatus,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.messages import Usage
from odradek_schemas.rollouts import Group, RolloutStatus, TrainingSample
from odradek_schemas.topics import TOPICS
from odradek_training import Deployment

PARTITIONS = 3
START = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
_TOPIC_OF = {event.__name__: topic for topic in TOPICS for event in topic.events}


class Makes:
    """Events of run `r`: four tasks, two rollouts each, unless said otherwise."""

    start = START

    def run(self, run_id: str = "r", samples: int = 2, **more: Any) -> RunRequested:
        given = {
            "environment": "mcqa",
            "model": "m",
            "dataset": Dataset(uri="file:///t.jsonl", name="t"),
        } | more
        return RunRequested(id=run_id, run_id=run_id, time=START, samples=samples, **given)

    def imported(self, run_id: str = "r", samples: int = 2) -> RunImported:
        return RunImported(
            id=run_id,
            run_id=run_id,
            time=START,
            environment="mcqa",
            dataset=Dataset(uri="file:///t.jsonl", name="t"),
            format="nemo-gym",
            digest="d",
            model="m",
            samples=samples,
            rollouts=4,
        )

    def finish(self, planned: int = 8, run_id: str = "r", **more: Any) -> RunFinished:
        given: dict[str, Any] = {"status": RunStatus.FINISHED, "admitted": planned} | more
        return RunFinished(id=run_id, run_id=run_id, planned=planned, started_at=START, **given)

    def policy(self, version: str, model: str = "m") -> PolicyUpdated:
        return PolicyUpdated(id=f"policy/{model}/{version}", model=model, version=version)

    def reward(
        self, task: int, sample: int, reward: float | None = 1.0, run_id: str = "r", **more: Any
    ) -> RewardAssigned:
        masked = reward is None
        failure = Failure(kind=FailureKind.RATE_LIMITED, stage=Stage.MODEL, message="429, at last")
        given: dict[str, Any] = {
            "scoring": "primary",
            "group": Group(task_id=f"{run_id}/{task}", size=2),
            "policy_version": None,
        } | more
        rollout_id = f"{run_id}/{task}/{sample}"
        return RewardAssigned(
            id=f"{rollout_id}/reward/{given['scoring']}",
            run_id=run_id,
            rollout_id=rollout_id,
            reward=reward,
            masked=masked,
            status=RolloutStatus.FAILED if masked else RolloutStatus.COMPLETED,
            failure=failure if masked else None,
            environment="mcqa",
            model="m",
            sample=sample,
            turns=1,
            attempt=1,
            usage=Usage(),
            started_at=START,
            finished_at=START,
            trajectory=RecordCoordinates(topic="trajectories", partition=0, offset=0),
            **given,
        )

    def tokens(self, *ids: int, policy: str | None = None) -> TrainingSample:
        """A sample whose first token is the prompt."""
        chosen = len(ids) - 1
        return TrainingSample(
            token_ids=list(ids),
            loss_mask=[0] + [1] * chosen,
            logprobs=[0.0] + [-0.5] * chosen,
            call_ids=["c"],
            policy_versions=[policy],
            finish_reasons=["stop"],
        )


@dataclass
class World:
    """A deployment of its own on the real broker."""

    bootstrap: str
    prefix: str
    blob_store: str

    @property
    def deployment(self) -> Deployment:
        return Deployment(self.bootstrap, self.prefix, self.blob_store)

    @property
    def settings(self) -> dict[str, str]:
        """As the environment has it."""
        return {
            "ODRADEK_BOOTSTRAP_SERVERS": self.bootstrap,
            "ODRADEK_TOPIC_PREFIX": self.prefix,
            "ODRADEK_BLOB_STORE": self.blob_store,
        }

    async def write(
        self, *events: Event, seconds: float = 0.0, in_blobs: bool = False, partitions: int = PARTITIONS
    ) -> None:
        """Write events where they belong, in one transaction, as of `seconds` after the start."""
        async with self._producer() as producer, producer.transaction():
            for event in events:
                record, topic = encode(event, "test"), _TOPIC_OF[event.type]
                if in_blobs:
                    assert record.value is not None
                    record = with_reference(record, await open_blob_store(self.blob_store).put(record.value))
                await producer.send(
                    self.prefix + topic.name,
                    record.value,
                    key=record.key,
                    partition=0 if topic.single else partition_of(event.key, partitions),
                    timestamp_ms=int((START.timestamp() + seconds) * 1000),
                    headers=list(record.headers),
                )

    async def grow(self, partitions: int) -> None:
        """Add partitions, as `odradek topics grow` does to all topics."""
        await self.write(PartitionsAdded(id="partitions", counts=[PARTITIONS, partitions]))
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        await admin.create_partitions(
            {f"{self.prefix}{topic}": NewPartitions(partitions) for topic in ("runs", "rewards")}
        )
        await admin.close()

    async def demands(self) -> list[int]:
        """What was demanded of runs, in the order in which it was written."""
        found: list[int] = []
        places = [TopicPartition(f"{self.prefix}runs", number) for number in range(PARTITIONS)]
        for place, (start, end) in (await log_bounds(Brokers(self.bootstrap), places)).items():
            async for records in read_log(Brokers(self.bootstrap), place, start, end):
                events = [json.loads(record.value or b"") for record in records]
                found += [event["demand"] for event in events if event["type"] == "RunDemandRaised"]
        return found

    def _producer(self) -> AIOKafkaProducer:
        return AIOKafkaProducer(bootstrap_servers=self.bootstrap, transactional_id=f"{self.prefix}test")
