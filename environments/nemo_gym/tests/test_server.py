"""Starting a server from its folder: it answers, it is told its configuration, and it never outlives who started it."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientConnectorError, ClientSession

from odradek import WorldFailed
from odradek_nemo_gym.server import GymServer, ServerError, running
from odradek_nemo_gym.servers import Servers
from odradek_nemo_gym.settings import BridgeSettings
from odradek_schemas.failures import FailureKind

COMMAND = Path(sys.executable).with_name("odradek-nemo-gym-server")
PYTHON = Path(sys.executable)
SECONDS = 30.0

APP = """
import json, os
from http.server import BaseHTTPRequestHandler, HTTPServer

name = os.environ["NEMO_GYM_CONFIG_PATH"]
whole = json.loads(os.environ["NEMO_GYM_CONFIG_DICT"])
own = whole[name]["resources_servers"][os.path.basename(os.getcwd())]
told = {"own": own, "head": whole["head_server"], "odradek": [n for n in os.environ if n.startswith("ODRADEK_")]}
told["pid"] = os.getpid()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        text = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *said):
        pass


HTTPServer((own["host"], own["port"]), Handler).serve_forever()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A server that tells what it was told."""
    folder = tmp_path / "resources_servers" / "tells"
    folder.mkdir(parents=True)
    (folder / "app.py").write_text(APP)
    return folder


async def told(url: str) -> Any:
    async with ClientSession() as client, client.get(url) as answer:
        return json.loads(await answer.text())


async def gone(url: str) -> None:
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                await told(url)
            except (ClientConnectorError, OSError):
                return
            await asyncio.sleep(0.05)


Start = Callable[..., Awaitable[asyncio.subprocess.Process]]


@pytest.fixture
async def start(folder: Path) -> AsyncIterator[Start]:
    """Starts the command for that folder."""
    processes = []

    async def begin(*arguments: str) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *(COMMAND, *(arguments or (str(folder), "--python", str(PYTHON)))),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        processes.append(process)
        return process

    yield begin
    for process in processes:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def first_line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(SECONDS):
        return (await process.stdout.readline()).decode().strip()


async def test_a_server_is_told_what_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_SEALING_PRIVATE_KEY_FILE", "secret")
    server = await GymServer.start(folder, PYTHON, {"grading_mode": "lenient"}, SECONDS)
    async with running(server):
        seen = await told(server.url)
    port = int(server.url.rpartition(":")[2])
    assert seen["own"] == {
        "entrypoint": "app.py",
        "domain": "other",
        "grading_mode": "lenient",
        "host": "127.0.0.1",
        "port": port,
    }
    assert seen["odradek"] == [], "where secrets lie is none of its business"


async def test_what_can_t_be_started_says_why(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="no Python"):
        await GymServer.start(folder)
    with pytest.raises(ServerError, match="is no folder"):
        await GymServer.start(tmp_path / "nowhere", PYTHON)
    (folder / "app.py").write_text("raise SystemExit(3)")
    with pytest.raises(ServerError, match="exit code 3"):
        await GymServer.start(folder, PYTHON, seconds=SECONDS)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_the_server_ends_with_the_command(start: Start, number: signal.Signals) -> None:
    command = await start()
    url = await first_line(command)
    assert (await told(url))["own"]["port"] == int(url.rpartition(":")[2])
    command.send_signal(number)
    await gone(url)
    assert await command.wait() == (-signal.SIGKILL if number is signal.SIGKILL else 0)


async def test_the_command_ends_with_the_server_and_says_so(start: Start) -> None:
    command = await start()
    url = await first_line(command)
    os.kill((await told(url))["pid"], signal.SIGKILL)
    _, said = await command.communicate()
    assert command.returncode == 1
    assert b"ended by itself" in said


async def test_a_bad_folder_is_an_error_with_an_exit_code(start: Start, tmp_path: Path) -> None:
    command = await start(str(tmp_path / "nowhere"))
    _, said = await command.communicate()
    assert command.returncode == 1
    assert b"is no folder" in said


async def test_a_server_that_ended_is_started_again_and_its_sessions_are_lost(folder: Path) -> None:
    servers = Servers(BridgeSettings(server=folder, python=PYTHON))
    first = await servers.url()
    servers.check_alive(first)
    assert await servers.url() == first, "one server for all who ask"
    os.kill((await told(first))["pid"], signal.SIGKILL)
    async with asyncio.timeout(SECONDS):
        while (second := await servers.url()) == first:  # noqa: ASYNC110 - it is the process that changes
            await asyncio.sleep(0.05)
    servers.check_alive(second)
    with pytest.raises(WorldFailed, match="its sessions with it") as lost:
        servers.check_alive(first)
    assert lost.value.kind is FailureKind.SESSION_LOST
