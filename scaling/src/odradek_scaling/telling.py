"""What the workers themselves tell of their work, on their `/metrics`."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from aiohttp import ClientError, ClientSession, ClientTimeout
from prometheus_client.parser import text_string_to_metric_families

from odradek_runtime.bounds import MOST_PORT

ASK_SECONDS = 2.0
"""Deadline of one worker's answer, and of its name's."""

OWNED = "odradek_owned_partitions"
SESSIONS = "odradek_open_sessions"
ROLLOUTS = "odradek_unfinished_rollouts"
CALLS = "odradek_replica_calls"
LIMIT = "odradek_replica_limit_calls"

Address = tuple[str, int]
"""Host and port."""
FindWorkers = Callable[[str], Awaitable[Sequence[Address]]]
"""Where the workers of a pool answer; must not raise: those that are not found count as silent."""


@dataclass(frozen=True)
class Told:
    """What one worker tells. `calls` at upstreams; `limits`: what each replica of a model bears, by both names."""

    owned: int = 0
    sessions: int = 0
    rollouts: int = 0
    calls: int = 0
    limits: Mapping[tuple[str, str], int] = field(default_factory=dict)


def read_told(text: str) -> Told:
    """Read what `/metrics` answered.

    Raises:
        ValueError: it is not Prometheus' text format.
    """
    sums = dict.fromkeys((OWNED, SESSIONS, ROLLOUTS, CALLS), 0)
    limits: dict[tuple[str, str], int] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == LIMIT:
                limits[sample.labels["model"], sample.labels["replica"]] = int(sample.value)
            elif sample.name in sums:
                sums[sample.name] += int(sample.value)
    return Told(sums[OWNED], sums[SESSIONS], sums[ROLLOUTS], sums[CALLS], limits)


async def ask(addresses: Iterable[Address]) -> list[Told]:
    """What the workers there tell. One that does not answer is left out: it may just be starting, or be dead. Whether it
    is missed, the group knows."""
    told = []
    for text in await texts(addresses):
        with suppress(ValueError):
            told.append(read_told(text))
    return told


async def texts(addresses: Iterable[Address], seconds: float = ASK_SECONDS) -> list[str]:
    """What is answered on `/metrics` there, each within so many seconds; who does not answer is left out."""
    async with ClientSession(timeout=ClientTimeout(total=seconds)) as session:
        answers = await asyncio.gather(*(_text(session, address) for address in addresses))
    return [text for text in answers if text is not None]


async def _text(session: ClientSession, address: Address) -> str | None:
    url = "http://{}:{}/metrics".format(*address)
    try:
        async with session.get(url) as response:
            response.raise_for_status()
            return await response.text()
    except (ClientError, OSError, TimeoutError, ValueError):
        return None


def is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and 0 < int(text) <= MOST_PORT


def read_place(place: str) -> tuple[str, int]:
    """`NAMESPACE:PORT` of AWS Cloud Map. Raises ValueError: it is not of this form."""
    namespace, _, port = place.rpartition(":")
    if not (namespace and is_port(port)):
        raise ValueError(f"{place!r} is not NAMESPACE:PORT, such as prod.odradek.internal:9400")
    return namespace, int(port)


def by_name(template: str) -> FindWorkers:
    """Workers found by DNS: `template` is `HOST:PORT`, with `{pool}` for the pool's name; all addresses of the host.

    Raises:
        ValueError: it is not of this form.
    """
    host, _, port = template.rpartition(":")
    if not (host and is_port(port)):
        raise ValueError(f"{template!r} is not HOST:PORT, such as {{pool}}:9400")

    async def find(pool: str) -> Sequence[Address]:
        return await resolve(host.replace("{pool}", pool), int(port))

    return find


async def resolve(host: str, port: int) -> list[Address]:
    """All addresses of a name; none when it has none, as the name of a pool without workers."""
    try:
        async with asyncio.timeout(ASK_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError):
        return []
    return sorted({(str(address[0]), port) for *_, address in found})
