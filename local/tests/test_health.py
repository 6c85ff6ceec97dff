"""Health is a process's own: whoever else answers on its port is not taken for it."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from odradek_local.health import answers_http, until_healthy
from odradek_local.ports import HOST, listens
from odradek_local.process import Process, ProcessError

SLEEP = "import time; time.sleep(600)"
LISTEN = "import socket, time; s = socket.create_server(('127.0.0.1', int({port}))); time.sleep(600)"


@asynccontextmanager
async def stranger() -> AsyncIterator[int]:
    """A server in this process that finds everything well; yields its port."""

    async def well(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nok")
        writer.close()

    server = await asyncio.start_server(well, HOST, 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_another_program_on_the_port_is_not_taken_for_the_part(tmp_path: Path) -> None:
    part = Process("the part", [sys.executable, "-c", SLEEP], log=tmp_path / "log")
    part.start()
    try:
        async with stranger() as port:
            assert await answers_http(port, "/readyz")
            with pytest.raises(
                ProcessError, match=f"the part does not listen on port {port}: another program"
            ):
                await until_healthy(part, lambda: answers_http(port, "/readyz"), 20.0, port)
    finally:
        part.stop()


async def test_a_part_that_listens_itself_is_known_by_it(tmp_path: Path) -> None:
    with socket.create_server((HOST, 0)) as probe:
        port = probe.getsockname()[1]
        assert listens(os.getpid(), port)
    assert not listens(os.getpid(), port), "nobody listens any more"
    part = Process("the part", [sys.executable, "-c", LISTEN.format(port=port)], log=tmp_path / "log")
    part.start()
    try:

        async def listening() -> bool:
            return listens(part.pid, port)

        await until_healthy(part, listening, 20.0, port)
        assert not listens(os.getpid(), port)
    finally:
        part.stop()
    assert not listens(part.pid, port), "the process has ended"
