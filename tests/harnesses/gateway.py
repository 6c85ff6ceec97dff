"""A model gateway whose front end serves one program, on a real broker."""

from collections.abc import AsyncIterator
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
from odradek_runtime.metrics import Metrics
from odradek_runtime.names import Names
from odradek_runtime.service import Surroundings
from odradek_runtime.topics import apply_topics
from odradek_schemas.codec import decode, read_envelope
from odradek_schemas.events import Event, RecordCoordinates
from odradek_schemas.messages import Sampling
from odradek_schemas.topics import MODEL_RESULTS

MODEL = "org/scripted-1"
PROGRAM = "run/0/0/1/1"
ACCESS_SECONDS = 600


@dataclass
class RunningGateway:
    """Where it is asked, and the token of the rollout that asks."""

    url: str
    token: str
    bootstrap: str
    topic: str

    async def told(self) -> list[Event]:
        """What it wrote of the rollout's calls."""
        place = TopicPartition(self.topic, 0)
        events: list[Event] = []
        async with AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap, isolation_level="read_committed"
        ) as reader:
            reader.assign([place])
            end = (await reader.end_offsets([place]))[place]
            reader.seek(place, 0)
            while await reader.position(place) < end:
                for records in (await reader.getmany(timeout_ms=200)).values():
                    events += map(_event, records)
        return events


@asynccontextmanager
async def running_gateway(
    bootstrap: str, prefix: str, blobs: Path, upstream: str
) -> AsyncIterator[RunningGateway]:
    """One before the model at `upstream`, which it asks once for each call."""
    await apply_topics(bootstrap, prefix, 1)
    model = ModelSettings.at(upstream, model="scripted", tries=1)
    settings = GatewaySettings.model_validate(
        {
            "bootstrap_servers": bootstrap,
            "topic_prefix": prefix,
            "partitions": 1,
            "models": {MODEL: model},
            "front_port": 0,
        }
    )
    signer, client, names = Signer(b"s" * 32), HttpClient(connections=8), Names(prefix)
    end = FrontEnd(settings, signer, Gateway({MODEL: Upstream(model, client)}), client)
    await end.start(Surroundings(names, FileBlobStore(blobs), Metrics()))
    try:
        topic = names.topic(MODEL_RESULTS.name)
        yield RunningGateway(f"http://127.0.0.1:{end.port}", signer.sign(_access()), bootstrap, topic)
    finally:
        await end.stop()


def _access() -> Access:
    now = datetime.now(UTC)
    return Access(
        run_id="run",
        rollout_id="run/0/0",
        program_id=PROGRAM,
        partition=0,
        model=MODEL,
        sampling=Sampling(),
        model_seconds=30,
        issued=now - timedelta(seconds=1),
        expires=now + timedelta(seconds=ACCESS_SECONDS),
    )


def _event(record: Any) -> Event:
    where = RecordCoordinates(topic=MODEL_RESULTS.name, partition=0, offset=record.offset)
    event: Event = decode(MODEL_RESULTS, read_envelope(record.headers, where), record.value, where)
    return event
