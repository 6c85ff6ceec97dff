"""A front end on a real broker, and an upstream that does what the test says."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from aiohttp import ClientSession, ClientTimeout, web
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition

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
from odradek_schemas.codec import decode, encode, read_envelope
from odradek_schemas.events import Event, ModelAccessEnded, ModelCallCompleted, RecordCoordinates
from odradek_schemas.messages import Sampling
from odradek_schemas.topics import BY_NAME

Json = dict[str, Any]
SECRET = b"a secret that is long enough to sign with"
PROGRAM = "run/1/0/1/2"

ANSWER: Json = {
    "id": "up-1",
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "reasoning_content": "Closer.",
                "content": "Again.",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "zoom", "arguments": '{"by":8}'}},
                    {"id": "c2", "type": "function", "function": {"name": "pan", "arguments": '{"x":-1}'}},
                ],
            },
        }
    ],
    "usage": {
        "prompt_tokens": 20,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3},
    },
}
"""A reply with all that a reply can have."""


def _piece(delta: Json, finish_reason: str | None = None, **more: Any) -> Json:
    return {"id": "up-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason, **more}]}


def _called(index: int, **call: Any) -> Json:
    return _piece({"tool_calls": [{"index": index, **call}]})


PIECES: list[Json] = [
    _piece({"role": "assistant", "content": ""}),
    _piece({"reasoning_content": "Clo"}),
    _piece({"reasoning_content": "ser."}),
    _piece({"content": "Aga"}),
    _piece({"content": "in."}),
    _called(0, id="c1", type="function", function={"name": "zoom", "arguments": ""}),
    _called(0, function={"arguments": '{"by"'}),
    _called(0, function={"arguments": ":8}"}),
    _called(1, id="c2", type="function", function={"name": "pan", "arguments": '{"x":-1}'}),
    _piece({}, "tool_calls"),
    {"id": "up-1", "choices": [], "usage": ANSWER["usage"]},
]
"""The same reply as a stream."""


@dataclass
class Refused:
    """An HTTP error that the upstream answers with."""

    status: int
    body: Json


@dataclass
class Conductor:
    """A server of chat completions. `score`: what it answers next, in order; when that is used up, `ANSWER`.

    It plays on where `gate` is open, and stands still after a stream's first piece where it is not. `left` counts the
    clients that went away before the end.
    """

    url: str = ""
    asked: list[Json] = field(default_factory=list)
    score: deque[Json | Refused | list[Json]] = field(default_factory=deque)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    left: int = 0

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.asked.append(body)
        answer = self.score.popleft() if self.score else PIECES if body.get("stream") else ANSWER
        try:
            if isinstance(answer, list):
                return await self._stream(request, answer)
            await self.gate.wait()
        except (asyncio.CancelledError, ConnectionError):
            self.left += 1
            raise
        if isinstance(answer, Refused):
            return web.json_response(answer.body, status=answer.status)
        return web.json_response(answer)

    async def _stream(self, request: web.Request, pieces: list[Json]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for number, piece in enumerate(pieces):
            if number == 3:
                await self.gate.wait()
            await response.write(b"data: " + orjson.dumps(piece) + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        return response

    async def other(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append(body)
        return web.json_response({"path": request.path, "model": body["model"]})


class Front:
    """A front end that runs; `process` makes another one on the same log, as another process would be."""

    def __init__(self, bootstrap: str, prefix: str, folder: Path, conductor: Conductor, **model: Any) -> None:
        self.bootstrap = bootstrap
        self.names = Names(prefix)
        self.signer = Signer(SECRET)
        settings = ModelSettings.at(f"{conductor.url}/v1", model="upstream-m", tries=1, **model)
        client = HttpClient(connections=64)
        gateway = Gateway({"m": Upstream(settings, client)})
        self.end = FrontEnd(
            GatewaySettings.model_validate(
                {
                    "bootstrap_servers": bootstrap,
                    "topic_prefix": prefix,
                    "partitions": 2,
                    "models": {"m": settings},
                    "front_port": 0,
                }
            ),
            self.signer,
            gateway,
            client,
        )
        self._surroundings = Surroundings(self.names, FileBlobStore(folder), Metrics())

    async def start(self) -> "Front":
        await self.end.start(self._surroundings)
        return self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.end.port}"

    def token(
        self, program: str = PROGRAM, seconds: float = 60, signer: Signer | None = None, **sampling: Any
    ) -> str:
        rollout = "/".join(program.split("/")[:3])
        now = datetime.now(UTC)
        access = Access(
            run_id=program.split("/")[0],
            rollout_id=rollout,
            program_id=program,
            partition=1,
            model="m",
            sampling=Sampling(**sampling),
            model_seconds=30,
            issued=now - timedelta(seconds=1),
            expires=now + timedelta(seconds=seconds),
        )
        return (signer or self.signer).sign(access)

    async def logged(self, topic: str = "model-results", partition: int = 1) -> list[Event]:
        """All events of a topic's partition."""
        where = TopicPartition(self.names.topic(topic), partition)
        consumer = AIOKafkaConsumer(bootstrap_servers=self.bootstrap, isolation_level="read_committed")
        events: list[Event] = []
        async with consumer:
            consumer.assign([where])
            end = (await consumer.end_offsets([where]))[where]
            consumer.seek(where, 0)
            while await consumer.position(where) < end:
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    events += [_event(topic, record) for record in records]
        return events


def _event(topic: str, record: Any) -> Event:
    place = RecordCoordinates(topic=topic, partition=record.partition, offset=record.offset)
    event: Event = decode(BY_NAME[topic], read_envelope(record.headers, place), record.value, place)
    return event


StartFront = Callable[..., Awaitable[Front]]


ASKED: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


async def post(
    front: Front,
    asked: Any = ASKED,
    path: str = "/v1/chat/completions",
    token: str | None = None,
    **headers: str,
) -> tuple[int, Any]:
    sent = {
        "Authorization": f"Bearer {token or front.token()}",
        **{n.replace("_", "-"): v for n, v in headers.items()},
    }
    async with ClientSession(timeout=ClientTimeout(total=20)) as session:
        body = {"data": asked} if isinstance(asked, bytes) else {"json": asked}
        async with session.post(front.url + path, headers=sent, **body) as response:
            return response.status, await response.json()


async def until(true: Any) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 - it is another's to come true
            await asyncio.sleep(0.01)


async def completed(front: Front) -> int:
    return sum(isinstance(event, ModelCallCompleted) for event in await front.logged())


async def end(front: Front, program: str) -> None:
    """What the agent-worker writes when a program's access ends."""
    event = ModelAccessEnded(
        id=f"{program}/access-ended",
        run_id="run",
        rollout_id="run/1/0",
        program_id=program,
        reason="max_turns is reached",
        expires=datetime.now(UTC) + timedelta(hours=1),
    )
    record = encode(event, "test")
    async with AIOKafkaProducer(bootstrap_servers=front.bootstrap) as producer:
        await producer.send_and_wait(
            front.names.topic("model-access"), record.value, record.key, 1, headers=list(record.headers)
        )
