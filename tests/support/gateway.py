"""A model gateway whose front end serves one rollout, on a real broker."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from odradek.models import ModelSettings
from odradek_model_gateway.front.front_end import FrontEnd
from odradek_model_gateway.gateway import Gateway
from odradek_model_gateway.settings import GatewaySettings
from odradek_model_gateway.upstream import HttpClient, Upstream
from odradek_runtime.access import Access, Signer
from odradek_runtime.blobs import FileBlobStore
from odradek_runtime.brokers import Brokers
from odradek_runtime.metrics import Metrics
from odradek_runtime.names import Names
from odradek_runtime.service import Surroundings
from odradek_runtime.topics import apply_topics
from odradek_schemas.codec import decode, read_envelope
from odradek_schemas.events import Event, RecordCoordinates
from odradek_schemas.messages import Sampling
from odradek_schemas.topics import MODEL_RESULTS

PROGRAM = "run/0/0/1/1"
ACCESS_SECONDS = 600
MODEL_SECONDS = 60.0


@dataclass
class RunningGateway:
    """Where it is asked over HTTP, and what answers there: `core` calls, `end` listens."""

    bootstrap: str
    topic: str
    signer: Signer
    core: Gateway
    end: FrontEnd

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.end.port}"

    def token(self, model: str, sampling: Sampling | None = None) -> str:
        """The token of the rollout's program, which asks `model` with the run's `sampling`."""
        now = datetime.now(UTC)
        access = Access(
            run_id="run",
            rollout_id="run/0/0",
            program_id=PROGRAM,
            partition=0,
            model=model,
            sampling=sampling or Sampling(),
            model_seconds=MODEL_SECONDS,
            issued=now - timedelta(seconds=1),
            expires=now + timedelta(seconds=ACCESS_SECONDS),
        )
        return self.signer.sign(access)

    async def told(self) -> list[Event]:
        """What it wrote of the rollout's calls."""
        place = TopicPartition(self.topic, 0)
        events: list[Event] = []
        # From the beginning by its own setting: a seek there may be overtaken by the way to the end that is the default.
        async with AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
        ) as reader:
            reader.assign([place])
            end = (await reader.end_offsets([place]))[place]
            while await reader.position(place) < end:
                for records in (await reader.getmany(timeout_ms=200)).values():
                    events += map(_event, records)
        return events


@asynccontextmanager
async def running_gateway(
    bootstrap: str, prefix: str, blobs: Path, models: Mapping[str, ModelSettings]
) -> AsyncIterator[RunningGateway]:
    """One before these models' upstreams."""
    await apply_topics(Brokers(bootstrap), prefix, 1)
    settings = GatewaySettings.model_validate(
        {
            "bootstrap_servers": bootstrap,
            "topic_prefix": prefix,
            "partitions": 1,
            "models": models,
            "front_port": 0,
        }
    )
    signer, client, names = Signer(b"s" * 32), HttpClient(connections=8), Names(prefix)
    core = Gateway({name: Upstream(model, client) for name, model in models.items()})
    end = FrontEnd(settings, signer, core, client)
    await end.start(Surroundings(names, FileBlobStore(blobs), Metrics()))
    try:
        yield RunningGateway(bootstrap, names.topic(MODEL_RESULTS.name), signer, core, end)
    finally:
        await end.stop()


def _event(record: Any) -> Event:
    where = RecordCoordinates(topic=MODEL_RESULTS.name, partition=0, offset=record.offset)
    event: Event = decode(MODEL_RESULTS, read_envelope(record.headers, where), record.value, where)
    return event
