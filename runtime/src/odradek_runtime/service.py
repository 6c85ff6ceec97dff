"""A service: FastStream's application around one worker, with health, readiness and metrics over HTTP.

The hot topics are read by the worker's own loop; FastStream brings the life cycle, the ASGI side and the subscriber
on `control`.
"""

import asyncio
import contextlib
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import uvicorn
import uvloop
from aiokafka.errors import KafkaError
from faststream.asgi import AsgiFastStream, AsgiResponse, get
from prometheus_client import ProcessCollector, make_asgi_app

from odradek_runtime.blobs import (
    BadBlobStoreUri,
    BlobStore,
    KeptBlobs,
    StoreRefused,
    StoreUnavailable,
    open_blob_store,
)
from odradek_runtime.control import follow_control, read_control
from odradek_runtime.ending import LAST_SECONDS, end_within
from odradek_runtime.errors import WorkerError
from odradek_runtime.folds import StatefulProcessor
from odradek_runtime.growing import check_layout
from odradek_runtime.handlers import ConcurrentProcessor
from odradek_runtime.intake import Intake
from odradek_runtime.leaving import STOP_SECONDS
from odradek_runtime.logs import configure_logs, get_logger
from odradek_runtime.loop_delay import watch_loop_delay
from odradek_runtime.measured_blobs import MeasuredBlobStore
from odradek_runtime.metrics import Metrics
from odradek_runtime.names import Names
from odradek_runtime.settings import WorkerSettings
from odradek_runtime.topics import BrokerAwayError, TopicError, check_topics
from odradek_runtime.tuning import tune_aiokafka, tune_garbage_collector
from odradek_runtime.worker import Worker
from odradek_schemas.events import Event

HTTP_SECONDS = 3
"""How long a request that is being answered holds up the end."""

BROKER_RETRY_SECONDS = 0.5

log = get_logger(__name__)

Processor = StatefulProcessor | ConcurrentProcessor


@dataclass(frozen=True)
class Surroundings:
    """What a service's process has, whoever works in it."""

    names: Names
    blobs: BlobStore
    metrics: Metrics


class Beside(Protocol):
    """What a service runs in its process beside the worker: from before its first record until after its last."""

    async def start(self, surroundings: Surroundings) -> None:
        """Begin. Raises WorkerError where it can't."""

    def control(self, event: Event) -> None:
        """An event of the `control` topic, from the first on."""

    async def stop(self) -> None:
        """End within a few seconds."""


def run_service(processor: Processor, settings: WorkerSettings, beside: Beside | None = None) -> None:
    """Run one worker until SIGTERM or SIGINT, then drain it.

    Blocks. Exits with status 1 and one clear line when the broker or the blob store can't be reached, the topics are
    not as declared, or the worker can't go on.
    """
    configure_logs(processor.name, settings.log_level, settings.log_format)
    tune_aiokafka()
    tune_garbage_collector()
    try:
        uvloop.run(_serve_and_end(processor, settings, beside))
    except (WorkerError, TopicError, BadBlobStoreUri, StoreUnavailable, KafkaError, TimeoutError) as error:
        log.error("service ended", error=f"{type(error).__name__}: {error}")
        sys.exit(1)


async def _serve_and_end(processor: Processor, settings: WorkerSettings, beside: Beside | None) -> None:
    """Serve; then the process ends, even where a thread hangs."""
    code = 1
    try:
        await serve(processor, settings, beside)
        code = 0
    finally:
        end_within(LAST_SECONDS, code)


async def serve(processor: Processor, settings: WorkerSettings, beside: Beside | None = None) -> None:
    """The composition root of every service.

    Raises:
        TopicError, WorkerError, BadBlobStoreUri, StoreUnavailable, KafkaError: as `run_service` tells.
    """
    names = Names(settings.topic_prefix)
    await _check_topics(settings)
    store = open_blob_store(settings.blob_store)
    await _check_blobs(store, settings)
    metrics = Metrics()
    blobs = MeasuredBlobStore(store, metrics)
    ProcessCollector(registry=metrics.registry)
    intake = Intake(processor.name, blobs)
    worker = Worker(processor, settings, blobs, metrics)

    def control(event: Event) -> None:
        worker.control(event)
        if beside is not None:
            beside.control(event)

    async with asyncio.timeout(settings.acquire_timeout_seconds):
        await read_control(settings.brokers, names, intake, control)
    check_layout(worker.layout, settings.partitions)
    broker = follow_control(settings.brokers, names, processor.name, intake, control)
    server = Server(_http(worker, metrics, broker, settings))
    watch = asyncio.create_task(watch_loop_delay(metrics.loop_delay))
    try:
        async with _running(beside, Surroundings(names, blobs, metrics)):
            await _run(worker, server)
    finally:
        watch.cancel()


@contextlib.asynccontextmanager
async def _running(beside: Beside | None, surroundings: Surroundings) -> AsyncIterator[None]:
    if beside is None:
        yield
        return
    try:
        await beside.start(surroundings)
        yield
    finally:
        await beside.stop()


async def _check_topics(settings: WorkerSettings) -> None:
    """A broker that is away comes back: a worker that ended at once would use up its restarts meanwhile."""
    deadline = time.monotonic() + settings.broker_timeout_seconds
    while True:
        try:
            return await check_topics(settings.brokers, settings.topic_prefix, settings.partitions)
        except BrokerAwayError as error:
            if time.monotonic() >= deadline:
                raise
            log.warning("waiting for the broker", reason=str(error))
            await asyncio.sleep(BROKER_RETRY_SECONDS)


async def _check_blobs(blobs: KeptBlobs, settings: WorkerSettings) -> None:
    """A store that may not be used is said to be so now, not at the first large value."""
    deadline = time.monotonic() + settings.broker_timeout_seconds
    while True:
        try:
            return await blobs.check()
        except StoreRefused:
            raise
        except StoreUnavailable as error:
            if time.monotonic() >= deadline:
                raise
            log.warning("waiting for the blob store", reason=str(error))
            await asyncio.sleep(BROKER_RETRY_SECONDS)


async def _run(worker: Worker, server: "Server") -> None:
    """Until a signal or the worker's end: drain the worker first, so that /readyz tells of it, then the server."""
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, worker.stop)
    serving = asyncio.create_task(server.serve())
    working = asyncio.create_task(worker.run())
    await asyncio.wait({serving, working}, return_when=asyncio.FIRST_COMPLETED)
    worker.stop()
    try:
        await working
    finally:
        server.should_exit = True
        await asyncio.wait({serving}, timeout=HTTP_SECONDS + STOP_SECONDS)
    if serving.done():
        await serving
    else:
        log.warning("the HTTP side did not stop in time and is left behind")


class Server(uvicorn.Server):
    """uvicorn without signal handlers of its own: the worker drains before the server stops."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        ports = [bound.getsockname()[1] for server in self.servers for bound in server.sockets]
        log.info("serving", ports=ports, paths=["/healthz", "/readyz", "/metrics", "/asyncapi"])

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _http(worker: Worker, metrics: Metrics, broker: Any, settings: WorkerSettings) -> uvicorn.Config:
    app = AsgiFastStream(
        broker,
        logger=None,
        asgi_routes=[
            ("/healthz", _answer(lambda: worker.alive)),
            ("/readyz", _answer(lambda: worker.ready)),
            ("/metrics", make_asgi_app(metrics.registry)),
        ],
        asyncapi_path="/asyncapi",
    )
    return uvicorn.Config(
        app,
        host=settings.http_host,
        port=settings.http_port,
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=HTTP_SECONDS,
    )


def _answer(is_well: Any) -> Any:
    """200 while `is_well()`, else 503: what probes understand."""

    @get
    async def route(scope: Any) -> AsgiResponse:
        return AsgiResponse(b"ok", 200) if is_well() else AsgiResponse(b"not ready", 503)

    return route
