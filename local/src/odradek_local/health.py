"""Waiting for a process to become healthy: always with a deadline, and never longer than the process lives."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from odradek_local.ports import HOST, listens
from odradek_local.process import Process

ASK_EVERY_S = 0.1
ASK_TIMEOUT_S = 2.0


async def until_healthy(
    process: Process, healthy: Callable[[], Awaitable[bool]], deadline_s: float, port: int | None = None
) -> None:
    """Asks until the answer is yes, and makes sure that it is the process itself that listens on `port`.

    Raises ProcessError when the process ends or the deadline passes first, or when another program answers.
    """
    until = time.monotonic() + deadline_s
    while not await healthy():
        if not process.running:
            raise process.failure(f"ended with exit code {process.exit_code}")
        if time.monotonic() > until:
            raise process.failure(f"was not healthy within {deadline_s:.0f} s")
        await asyncio.sleep(ASK_EVERY_S)
    if port is not None and not listens(process.pid, port):
        raise process.failure(f"does not listen on port {port}: another program answers there")


async def answers_http(port: int, path: str) -> bool:
    """Whether a GET of this path on a port of 127.0.0.1 gives status 200 now."""
    request = f"GET {path} HTTP/1.0\r\nHost: {HOST}:{port}\r\n\r\n".encode()
    try:
        async with asyncio.timeout(ASK_TIMEOUT_S), _connected(port) as (reader, writer):
            writer.write(request)
            status = await reader.readline()
    except (OSError, TimeoutError):
        return False
    return b" 200 " in status


async def answers_valkey(port: int) -> bool:
    """Whether a PING on this port of 127.0.0.1 gets its answer now."""
    try:
        async with asyncio.timeout(ASK_TIMEOUT_S), _connected(port) as (reader, writer):
            writer.write(b"PING\r\n")
            return await reader.readline() == b"+PONG\r\n"
    except (OSError, TimeoutError):
        return False


async def answers_kafka(port: int) -> bool:
    """Whether a Kafka client gets the cluster's metadata on this port of 127.0.0.1 now."""
    from aiokafka.client import AIOKafkaClient  # here: it takes long, and the broker starts meanwhile
    from aiokafka.errors import KafkaError

    if not await _accepts(port):  # asked first, since the client logs an error for each refused connection
        return False
    client = AIOKafkaClient(bootstrap_servers=f"{HOST}:{port}", request_timeout_ms=int(ASK_TIMEOUT_S * 1000))
    try:
        await asyncio.wait_for(client.bootstrap(), ASK_TIMEOUT_S)
        return len(client.cluster.brokers()) > 0
    except (KafkaError, OSError, TimeoutError):
        return False
    finally:
        await client.close()


async def _accepts(port: int) -> bool:
    try:
        async with asyncio.timeout(ASK_TIMEOUT_S), _connected(port):
            return True
    except (OSError, TimeoutError):
        return False


@asynccontextmanager
async def _connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        yield reader, writer
    finally:
        writer.close()
