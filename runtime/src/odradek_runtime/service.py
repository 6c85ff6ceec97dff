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
from collections.abc import Iterator
from typing import Any

import uvicorn
import uvloop
from aiokafka.errors import KafkaError
from faststream.asgi import AsgiFastStream, AsgiResponse, get
from prometheus_client import ProcessCollector, make_asgi_app

from odradek_runtime.blobs import BadBlobStoreUri, open_blob_store
from odradek_runtime.control import follow_control, read_control
from odradek_runtime.ending import LAST_SECONDS, end_within
from odradek_runtime.errors import WorkerError
from odradek_runtime.folds import StatefulProcessor
from odradek_runtime.handlers import ConcurrentProcessor
from odradek_runtime.intake import Intake
from odradek_runtime.leaving import STOP_SECONDS
from odradek_runtime.logs import configure_logs, get_logger
from odradek_runtime.loop_delay import watch_loop_delay
from odradek_runtime.metrics import Metrics
from odradek_runtime.names import Names
from odradek_runtime.settings import WorkerSettings
from odradek_runtime.topics import BrokerAwayError, TopicError, check_topics
from odradek_runtime.tuning import tune_aiokafka, tune_garbage_collector
from odradek_runtime.worker import Worker

HTTP_SECONDS = 3
"""How long a request that is being answered holds up the end."""

BROKER_RETRY_SECONDS = 0.5

log = get_logger(__name__)

Processor = StatefulProcessor | ConcurrentProcessor


def run_service(processor: Processor, settings: WorkerSettings) -> None:
    """Run one worker until SIGTERM or SIGINT, then drain it.

    Blocks. Exits with status 1 and one clear line when the broker can't be reached, the topics are not as declared,
    or the worker can't go on.
    """
    configure_logs(processor.name, settings.log_level, settings.log_format)
    tune_aiokafka()
    tune_garbage_collector()
    try:
        uvloop.run(_serve_and_end(processor, settings))
    except (WorkerError, TopicError, BadBlobStoreUri, KafkaError, TimeoutError) as error:
        log.error("service ended", error=f"{type(error).__name__}: {error}")
        sys.exit(1)


async def _serve_and_end(processor: Processor, settings: WorkerSettings) -> None:
    """Serve; then the process ends, even where a thread hangs."""
    code = 1
    try:
        await serve(processor, settings)
        code = 0
    finally:
        end_within(LAST_SECONDS, code)


async def serve(processor: Processor, settings: WorkerSettings) -> None:
    """The composition root of every service.

    Raises:
        TopicError, WorkerError, BadBlobStoreUri, KafkaError: as `run_service` tells.
    """
    names = Names(settings.topic_prefix)
    await _check_topics(settings)
    blobs = open_blob_store(settings.blob_store)
    metrics = Metrics()
    ProcessCollector(registry=metrics.registry)
    intake = Intake(processor.name, blobs)
    worker = Worker(processor, settings, blobs, metrics)
    async with asyncio.timeout(settings.acquire_timeout_seconds):
        await read_control(settings.bootstrap_servers, names, intake, worker.control)
    broker = follow_control(settings.bootstrap_servers, names, processor.name, intake, worker.control)
    server = Server(_http(worker, metrics, broker, settings))
    watch = asyncio.create_task(watch_loop_delay(metrics.loop_delay))
    try:
        await _run(worker, server)
    finally:
        watch.cancel()


async def _check_topics(settings: WorkerSettings) -> None:
    """A broker that is away comes back: a worker that ended at once would use up its restarts meanwhile."""
    deadline = time.monotonic() + settings.broker_timeout_seconds
    while True:
        try:
            return await check_topics(settings.bootstrap_servers, settings.topic_prefix, settings.partitions)
        except BrokerAwayError as error:
            if time.monotonic() >= deadline:
                raise
            log.warning("waiting for the broker", reason=str(error))
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
