"""The Valkey server, really answering."""

import asyncio
from pathlib import Path

import pytest

from odradek_local.ports import HOST
from odradek_local.process import ProcessError
from odradek_local.valkey import ValkeyServer


async def said(server: ValkeyServer, *commands: str) -> list[str]:
    """The first line of the answer to each command."""
    reader, writer = await asyncio.open_connection(HOST, server.port)
    answers = []
    for command in commands:
        writer.write(f"{command}\r\n".encode())
        answers.append((await reader.readline()).decode().strip())
    writer.close()
    return answers


def files(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file()]


async def test_it_answers_and_comes_back_empty(tmp_path: Path) -> None:
    server = ValkeyServer(tmp_path / "logs" / "valkey.log", port=0)
    server.start()
    try:
        await server.healthy()
        assert await said(server, "SET what there", "EXISTS what") == ["+OK", ":1"]
        server.process.kill()
        server.start()
        await server.healthy()
        assert await said(server, "EXISTS what") == [":0"]
    finally:
        server.stop()
    assert not server.process.running
    assert files(tmp_path) == ["valkey.log"]


def test_where_it_is_not_installed_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odradek_local.valkey.PACKAGE", "not_installed_anywhere")
    with pytest.raises(ProcessError, match="valkey-server is not there: pip install"):
        ValkeyServer(tmp_path / "log", port=0).start()
