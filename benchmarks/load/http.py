"""HTTP requests at a fixed rate, or as fast as they are answered; prints what came of them as JSON.

    python -m benchmarks.load.http --url http://127.0.0.1:8300/v1/chat/completions --body FILE --rate 500 --seconds 10

With a rate each request has its time, and its latency counts from then, whether a connection was free or not (an open
loop, which does not hide a server that stands still). Rate 0: each connection asks again when it is answered. A client of
a few lines on uvloop, since a framework would cost as much as what is measured.
"""

import argparse
import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import uvloop

PATIENCE_SECONDS = 20.0
"""For the last answers, after the last request."""


@dataclass
class Tally:
    """Seconds of each answered request: to its first byte, and to its end."""

    first: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    failed: int = 0
    statuses: dict[int, int] = field(default_factory=dict)


class Connection(asyncio.Protocol):
    """One keep-alive connection; one request at a time."""

    transport: asyncio.Transport

    def __init__(self, free: "asyncio.Queue[Connection]", tally: Tally) -> None:
        self._free = free
        self._tally = tally
        self._buffer = bytearray()
        self._due = 0.0
        self._first: float | None = None
        self._answered: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def ask(self, request: bytes, due: float) -> "asyncio.Future[None]":
        """Send a request whose latency counts from `due`."""
        self._due, self._first = due, None
        self._answered = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._answered

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head_end = self._buffer.find(b"\r\n\r\n")
        if head_end < 0:
            return
        if self._first is None and len(self._buffer) > head_end + 4:
            self._first = time.perf_counter()
        head = bytes(self._buffer[:head_end]).lower()
        if self._is_whole(head, head_end):
            status = int(head[9:12])
            self._buffer.clear()
            self._done(status)

    def connection_lost(self, error: Exception | None) -> None:
        if self._answered is not None and not self._answered.done():
            self._tally.failed += 1
            self._answered.set_result(None)

    def _is_whole(self, head: bytes, head_end: int) -> bool:
        _, found, length = head.partition(b"content-length:")
        if found:
            return len(self._buffer) >= head_end + 4 + int(length.split(b"\r\n", 1)[0])
        return self._buffer.endswith(b"\r\n0\r\n\r\n")

    def _done(self, status: int) -> None:
        now = time.perf_counter()
        tally = self._tally
        tally.statuses[status] = tally.statuses.get(status, 0) + 1
        if status == 200:
            tally.whole.append(now - self._due)
            tally.first.append((self._first or now) - self._due)
        else:
            tally.failed += 1
        assert self._answered is not None, "an answer without a request"
        self._answered.set_result(None)
        self._free.put_nowait(self)


async def load(url: str, request: bytes, rate: float, seconds: float, connections: int) -> Tally:
    """Ask for so many seconds."""
    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or 80
    loop = asyncio.get_running_loop()
    tally, free = Tally(), asyncio.Queue["Connection"]()
    all_made = []
    for _ in range(connections):
        _, made = await loop.create_connection(lambda: Connection(free, tally), host, port)
        free.put_nowait(made)
        all_made.append(made)
    if rate:
        await _at_rate(request, rate, seconds, free)
    else:
        await asyncio.gather(*(_again_and_again(request, seconds, free) for _ in all_made))
    for made in all_made:
        made.transport.close()
    return tally


async def _at_rate(request: bytes, rate: float, seconds: float, free: "asyncio.Queue[Connection]") -> None:
    start = time.perf_counter()
    pending: list[asyncio.Future[None]] = []
    for number in range(int(rate * seconds)):
        due = start + number / rate
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        pending.append((await free.get()).ask(request, due))
    await asyncio.wait(pending, timeout=PATIENCE_SECONDS)


async def _again_and_again(request: bytes, seconds: float, free: "asyncio.Queue[Connection]") -> None:
    until = time.perf_counter() + seconds
    while (now := time.perf_counter()) < until:
        await asyncio.wait_for((await free.get()).ask(request, now), PATIENCE_SECONDS)


def request_of(url: str, token: str, body: bytes) -> bytes:
    """The bytes of a POST."""
    parts = urlsplit(url)
    lines = (
        f"POST {parts.path} HTTP/1.1",
        f"Host: {parts.netloc}",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def quantiles(seconds: list[float]) -> dict[str, float]:
    """In milliseconds."""
    ordered = sorted(seconds)
    if not ordered:
        return {}
    return {f"p{q}": round(1000 * ordered[int(q / 100 * (len(ordered) - 1))], 3) for q in (50, 90, 99)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", required=True)
    parser.add_argument("--body", type=Path, required=True)
    parser.add_argument("--token", type=Path, required=True, help="a file with it")
    parser.add_argument("--rate", type=float, default=0.0, help="requests per second; 0: as fast as it goes")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--connections", type=int, default=64)
    given = parser.parse_args()
    request = request_of(given.url, given.token.read_text().strip(), given.body.read_bytes())
    began = time.perf_counter()
    tally = uvloop.run(load(given.url, request, given.rate, given.seconds, given.connections))
    took = time.perf_counter() - began
    told = {
        "answered": len(tally.whole),
        "failed": tally.failed,
        "statuses": {str(status): count for status, count in tally.statuses.items()},
        "seconds": round(took, 3),
        "first": quantiles(tally.first),
        "whole": quantiles(tally.whole),
    }
    print(orjson.dumps(told).decode())


if __name__ == "__main__":
    main()
