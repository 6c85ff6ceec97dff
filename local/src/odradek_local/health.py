"""Waiting for a process to become healthy: always with a deadline, and never longer than the process lives."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import aiohttp
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError

from odradek_local.process import Process

ASK_EVERY_S = 0.1
ASK_TIMEOUT_S = 2.0


async def until_healthy(process: Process, healthy: Callable[[], Awaitable[bool]], deadline_s: float) -> None:
    """Asks until the answer is yes; raises ProcessError when the process ends or the deadline passes first."""
    until = time.monotonic() + deadline_s
    while not await healthy():
        if not process.running:
            raise process.failure(f"ended with exit code {process.exit_code}")
        if time.monotonic() > until:
            raise process.failure(f"was not healthy within {deadline_s:.0f} s")
        await asyncio.sleep(ASK_EVERY_S)


async def answers_http(url: str) -> bool:
    """Whether a GET of this address gives status 200 now."""
    timeout = aiohttp.ClientTimeout(total=ASK_TIMEOUT_S)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as response:
            return response.status == 200
    except (aiohttp.ClientError, TimeoutError):
        return False


async def answers_kafka(bootstrap: str) -> bool:
    """Whether a Kafka client gets the cluster's metadata from this `host:port` now."""
    if not await _accepts(
        bootstrap
    ):  # asked first, since the client logs an error for each refused connection
        return False
    client = AIOKafkaClient(bootstrap_servers=bootstrap, request_timeout_ms=int(ASK_TIMEOUT_S * 1000))
    try:
        await asyncio.wait_for(client.bootstrap(), ASK_TIMEOUT_S)
        return len(client.cluster.brokers()) > 0
    except (KafkaError, OSError, TimeoutError):
        return False
    finally:
        await client.close()


async def _accepts(address: str) -> bool:
    host, port = address.rsplit(":", 1)
    try:
        _, writer = await asyncio.open_connection(host, int(port))
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True
