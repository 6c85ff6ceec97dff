"""What the tests of the CLI stand on: a runner, and a deployment on the real broker with events written to it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from typer.testing import CliRunner

from odradek_cli.app import app
from odradek_runtime.brokers import Brokers
from odradek_runtime.partitioning import partition_of
from odradek_runtime.topics import apply_topics
from odradek_schemas.codec import encode
from odradek_schemas.events import (
    Dataset,
    Event,
    RecordCoordinates,
    RewardAssigned,
    RunCounts,
    RunFinished,
    RunProgressed,
    RunRequested,
    RunStatus,
    TrajectoryFinished,
    VerifierIdentity,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.messages import FunctionCall, Message, ToolCall, Usage
from odradek_schemas.rollouts import Group, ModelStep, RolloutStatus, ToolStep, Trajectory
from odradek_schemas.topics import TOPICS

PARTITIONS = 3
START = datetime.now(UTC).replace(microsecond=0)
_TOPIC_OF = {event.__name__: topic for topic in reversed(TOPICS) for event in topic.events}
"""Of results that several read, the agents' topic."""


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of whoever runs the tests, no local stack, and wide output."""
    for name in ("BOOTSTRAP_SERVERS", "TOPIC_PREFIX", "PARTITIONS", "BLOB_STORE", "MODELS"):
        monkeypatch.delenv(f"ODRADEK_{name}", raising=False)
    monkeypatch.setenv("ODRADEK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def odradek() -> Callable[..., Any]:
    """Runs one command and returns what it printed and its exit code."""

    def invoke(*arguments: str, **options: Any) -> Any:
        return CliRunner().invoke(app, list(arguments), **options)

    return invoke


class Makes:
    """Events as the services would write them, of run `r`."""

    start = START

    def run(self, run_id: str = "r", samples: int = 2, minutes: float = 0) -> RunRequested:
        return RunRequested(
            id=run_id,
            run_id=run_id,
            time=START + timedelta(minutes=minutes),
            environment="mcqa",
            dataset=Dataset(uri="file:///tasks.jsonl", name="tasks.jsonl"),
            model="smollm2",
            samples=samples,
        )

    def counts(self, finished: int, reward_sum: float = 0.0, tokens: int = 0, **more: Any) -> RunCounts:
        usage = Usage(prompt_tokens=10 * finished, completion_tokens=tokens)
        return RunCounts(finished=finished, reward_sum=reward_sum, usage=usage, **more)

    def progress(
        self, finished: int, planned: int = 4, run_id: str = "r", seconds: float = 1, **more: Any
    ) -> Event:
        return RunProgressed(
            id=run_id,
            run_id=run_id,
            time=START + timedelta(seconds=seconds),
            planned=planned,
            admitted=planned,
            counts=self.counts(finished, **more),
            started_at=START,
        )

    def finish(self, planned: int = 4, run_id: str = "r", **more: Any) -> RunFinished:
        given: dict[str, Any] = {
            "status": RunStatus.FINISHED,
            "admitted": planned,
            "counts": self.counts(planned),
        } | more
        return RunFinished(id=run_id, run_id=run_id, planned=planned, started_at=START, **given)

    def reward(
        self, task: int, sample: int, reward: float | None, run_id: str = "r", **more: Any
    ) -> RewardAssigned:
        masked = reward is None
        failure = Failure(kind=FailureKind.RATE_LIMITED, stage=Stage.MODEL, message="429, at last")
        given: dict[str, Any] = {
            "id": f"{run_id}/{task}/{sample}",
            "scoring": "primary",
            "status": RolloutStatus.FAILED if masked else RolloutStatus.COMPLETED,
            "failure": failure if masked else None,
            "components": {} if masked else {"format": 1.0},
            "details": {"chose": "B"},
        } | more
        place = partition_of(f"{run_id}/{task}/{sample}", PARTITIONS)
        return RewardAssigned(
            run_id=run_id,
            rollout_id=f"{run_id}/{task}/{sample}",
            reward=reward,
            masked=masked,
            verifier=VerifierIdentity(name="mcqa", version="abc123"),
            environment="mcqa",
            model="smollm2",
            group=Group(task_id=f"{run_id}/{task}", size=2),
            sample=sample,
            turns=1,
            attempt=1,
            usage=Usage(prompt_tokens=100, completion_tokens=20),
            started_at=START,
            finished_at=START + timedelta(seconds=2 + task),
            trajectory=RecordCoordinates(topic="trajectories", partition=place, offset=0),
            **given,
        )

    def trajectory(self, rollout_id: str = "r/0/0") -> TrajectoryFinished:
        call = ToolCall(id="c1", function=FunctionCall(name="get_weather", arguments='{"city": "Prague"}'))
        messages = [
            Message(role="system", content="Be brief. [bold]not markup[/bold]"),
            Message(role="user", content="What is the weather in Prague?"),
            Message(role="assistant", reasoning_content="I should look.", tool_calls=[call]),
            Message(role="tool", content="Rain.", tool_call_id="c1"),
            Message(role="assistant", content="It rains."),
        ]
        usage = Usage(prompt_tokens=50, completion_tokens=7)
        model: dict[str, Any] = {"finish_reason": "stop", "usage": usage, "latency_ms": 120.0}
        return TrajectoryFinished(
            id=rollout_id,
            run_id="r",
            rollout_id=rollout_id,
            trajectory=Trajectory(
                run_id="r",
                rollout_id=rollout_id,
                group=Group(task_id="r/0", size=2),
                sample=0,
                environment="example_single_tool_call",
                harness="tool_calling",
                model="smollm2",
                seed=1,
                task={"city": "Prague"},
                messages=messages,
                prompt_messages=2,
                steps=[
                    ModelStep(call_id=f"{rollout_id}/1/0", turn=0, message=2, **model),
                    ToolStep(call_id="c1", turn=0, message=3, name="get_weather", latency_ms=3.0),
                    ModelStep(call_id=f"{rollout_id}/1/1", turn=1, message=4, **model),
                ],
                status=RolloutStatus.COMPLETED,
                final_state={"asked": ["Prague"]},
                usage=usage + usage,
                started_at=START,
                finished_at=START + timedelta(seconds=1.5),
            ),
        )


@pytest.fixture
def makes() -> Makes:
    return Makes()


@dataclass
class World:
    """A deployment of its own on the real broker; commands find it by the environment."""

    bootstrap: str
    prefix: str

    def write(self, *events: Event) -> None:
        """Write events where they belong, in one transaction."""
        asyncio.run(self._write(events))

    def write_at(self, moment: datetime, *events: Event) -> None:
        """The same, as if it had been written then."""
        asyncio.run(self._write(events, int(moment.timestamp() * 1000)))

    def write_raw(self, topic: str, partition: int, value: bytes, headers: list[tuple[str, bytes]]) -> None:
        asyncio.run(self._write_raw(topic, partition, value, headers))

    def write_as_of(self, partitions: int, *events: Event) -> None:
        """The same, where events belong among so many partitions."""
        asyncio.run(self._write(events, partitions=partitions))

    async def _write(
        self, events: tuple[Event, ...], timestamp_ms: int | None = None, partitions: int = PARTITIONS
    ) -> None:
        async with (
            AIOKafkaProducer(
                bootstrap_servers=self.bootstrap, transactional_id=f"{self.prefix}test"
            ) as producer,
            producer.transaction(),
        ):
            for event in events:
                record, topic = encode(event, "test"), _TOPIC_OF[event.type]
                await producer.send(
                    self.prefix + topic.name,
                    record.value,
                    key=record.key,
                    partition=partition_of(event.key, partitions),
                    headers=list(record.headers),
                    timestamp_ms=timestamp_ms,
                )

    async def _write_raw(
        self, topic: str, partition: int, value: bytes, headers: list[tuple[str, bytes]]
    ) -> None:
        async with AIOKafkaProducer(bootstrap_servers=self.bootstrap) as producer:
            await producer.send_and_wait(self.prefix + topic, value, partition=partition, headers=headers)


@pytest.fixture
def world_at() -> type[World]:
    """A deployment of a broker that the test brings."""
    return World


@pytest.fixture
def world(kafka: str, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    asyncio.run(apply_topics(Brokers(kafka), prefix, PARTITIONS))
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", kafka)
    monkeypatch.setenv("ODRADEK_TOPIC_PREFIX", prefix)
    monkeypatch.setenv("ODRADEK_BLOB_STORE", (tmp_path / "blobs").as_uri())
    return World(kafka, prefix)
