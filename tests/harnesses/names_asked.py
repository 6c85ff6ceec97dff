"""A name server that knows no name, and notes which are asked for."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

PORT = 53
_HEADER = "!6H"
_NO_SUCH_NAME = 0x8183


class NameServer(asyncio.DatagramProtocol):
    """`asked`: the names, each once."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        query, _flags, *_counts = struct.unpack(_HEADER, data[:12])
        self.asked.add(_name_in(data))
        answer = struct.pack(_HEADER, query, _NO_SUCH_NAME, 1, 0, 0, 0) + _question_in(data)
        self._transport.sendto(answer, address)  # type: ignore[attr-defined]


@asynccontextmanager
async def name_server() -> AsyncIterator[NameServer]:
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(NameServer, ("127.0.0.1", PORT))
    try:
        yield server
    finally:
        transport.close()


def _name_in(data: bytes) -> str:
    labels, at = [], 12
    while size := data[at]:
        labels.append(data[at + 1 : at + 1 + size].decode(errors="replace"))
        at += 1 + size
    return ".".join(labels).lower()


def _question_in(data: bytes) -> bytes:
    """The question, without what some add to it."""
    return data[12 : data.index(b"\0", 12) + 5]
