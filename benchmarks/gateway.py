"""The model gateway alone: both front ends before a model that answers at once, token ids and logprobs captured.

One gateway process; broker, scripted model and load share the machine with it. *Added* over HTTP is the latency through the
gateway less that of the same load put to the scripted model itself, quantile by quantile; over Kafka, the time from a
request's sending to its answer's arrival at a reader, less the gateway's own wait for the model. Where the variable
`LITELLM` names the command of a LiteLLM proxy, it is measured in between, in the same run.
"""

import asyncio
import math
import os
import secrets
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from benchmarks.harness.measurement import Bench, Measurement, alone, say
from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.stack import AT_ONCE, HEALTHY_SECONDS, Shape, model_name
from odradek_local.health import answers_http, until_healthy
from odradek_local.ports import free_port
from odradek_local.process import Process
from odradek_runtime.access import Access

MODEL = model_name("instant", AT_ONCE.name)
PROMPT = "x" * 400
SHAPE = Shape(token_ids=True)
_OTHERS = ("task-producer", "agent-worker", "env-worker", "verifier-worker")


@dataclass(frozen=True)
class Sizes:
    """Seconds of each load, its rates, calls at once through Kafka, and repeats."""

    seconds: float = 5.0
    rates: tuple[int, ...] = (100, 500)
    calls: int = 12000
    connections: int = 32
    repeats: int = 3


@dataclass(frozen=True)
class Target:
    """Where HTTP load goes: to a gateway, with its pid, or to the model itself. `most`: the highest rate that is tried."""

    name: str
    url: str
    body: Path
    token: Path
    pid: int | None = None
    most: float = math.inf


async def measure(bench: Bench, sizes: Sizes) -> None:
    await bench.stack.stop(*_OTHERS)
    async with _targets(bench) as targets:
        for target in targets:
            await _http(target, Sizes(seconds=2.0), 0.0)  # warm
        await _kafka(bench, sizes, 0.0)
        await _measure_kafka(bench, sizes)
        for target in targets[1:]:
            await _measure_http(bench, sizes, targets[0], target)


async def _measure_kafka(bench: Bench, sizes: Sizes) -> None:
    with bench.results.series("gateway.kafka", calls=sizes.calls, rates=sizes.rates) as series:
        for repeat in range(sizes.repeats):
            figures: dict[str, float] = {}
            for rate in sizes.rates:
                told = await _kafka(bench, sizes, rate)
                figures |= {f"added_ms_{q}_at_{rate}": value for q, value in told["added"].items()}
            before = cpu_seconds(_gateway(bench))
            told = await _kafka(bench, sizes, 0.0)
            spent = cpu_seconds(_gateway(bench))["gateway"] - before["gateway"]
            figures["requests_per_second"] = round(told["answered"] / told["seconds"], 1)
            figures |= _per_core(spent, told["answered"])
            series.add(figures)
            say(f"kafka {repeat + 1}/{sizes.repeats}: {figures}")


async def _measure_http(bench: Bench, sizes: Sizes, model: Target, target: Target) -> None:
    name = f"gateway.{target.name}"
    with bench.results.series(name, connections=sizes.connections, rates=sizes.rates) as series:
        for repeat in range(sizes.repeats):
            figures: dict[str, float] = {}
            for rate in (rate for rate in sizes.rates if rate <= target.most):
                direct, told = await _http(model, sizes, rate), await _http(target, sizes, rate)
                figures |= _added(direct, told, rate)
            pids = {"gateway": [target.pid or 0]}
            before = cpu_seconds(pids)["gateway"]
            told = await _http(target, sizes, 0.0)
            spent = cpu_seconds(pids)["gateway"] - before
            figures["requests_per_second"] = round(told["answered"] / told["seconds"], 1)
            figures["failed"] = told["failed"]
            figures |= _per_core(spent, told["answered"])
            series.add(figures)
            say(f"{target.name} {repeat + 1}/{sizes.repeats}: {figures}")


def _added(direct: Any, through: Any, rate: int) -> dict[str, float]:
    """What the gateway adds, to the end of the answer and to its first byte."""
    whole = {f"added_ms_{q}_at_{rate}": through["whole"][q] - direct["whole"][q] for q in through["whole"]}
    first = {f"first_ms_{q}_at_{rate}": through["first"][q] - direct["first"][q] for q in through["first"]}
    return {name: round(value, 3) for name, value in {**whole, **first}.items()}


def _per_core(cpu: float, answered: int) -> dict[str, float]:
    return {
        "cpu_ms_per_request": round(1000 * cpu / answered, 3),
        "requests_per_second_of_one_core": round(answered / cpu, 1),
    }


@asynccontextmanager
async def _targets(bench: Bench) -> AsyncIterator[Sequence[Target]]:
    """The model itself, and what stands before it: the gateway, not streamed and streamed; LiteLLM, where there is one."""
    stack, folder = bench.stack, bench.folder
    (gateway,) = stack.deployment.pids["model-gateway"]
    token = _written(folder / "token", _token(bench).encode())
    upstream = f"{stack.model_url(AT_ONCE.name)}/chat/completions"
    front = f"{stack.gateway_url}/v1/chat/completions"
    tokens: Any = {"logprobs": True, "return_token_ids": True}
    targets = [
        Target("model", upstream, _body(folder, "model", "instant", **tokens), token),
        Target("http", front, _body(folder, "http", MODEL), token, gateway),
        Target("http_streamed", front, _body(folder, "streamed", MODEL, stream=True), token, gateway),
    ]
    command = os.environ.get("LITELLM")
    if command is None:
        yield targets
        return
    async with _litellm(command, folder, stack.model_url(AT_ONCE.name)) as proxy:
        url = f"http://127.0.0.1:{proxy[1]}/v1/chat/completions"
        key = folder / "litellm.key"
        yield [*targets, Target("litellm", url, _body(folder, "litellm", "m"), key, proxy[0].pid, 100)]


@asynccontextmanager
async def _litellm(command: str, folder: Path, base_url: str) -> AsyncIterator[tuple[Process, int]]:
    """One LiteLLM proxy, with its own advice for production: one worker, no logging, no health checks."""
    params = {"model": "openai/instant", "api_base": base_url, "api_key": "none"}
    key = f"sk-{secrets.token_hex(32)}"
    _written(folder / "litellm.key", key.encode())
    config = {
        "model_list": [{"model_name": "m", "litellm_params": params}],
        "litellm_settings": {"set_verbose": False, "json_logs": True, "request_timeout": 60},
        "general_settings": {
            "master_key": key,
            "disable_spend_logs": True,
            "background_health_checks": False,
        },
    }
    file = _written(folder / "litellm.json", orjson.dumps(config))
    port = free_port()
    arguments = [
        command,
        "--config",
        str(file),
        "--port",
        str(port),
        "--host",
        "127.0.0.1",
        "--num_workers",
        "1",
    ]
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LITELLM_LOG": "ERROR",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    process = Process("litellm", arguments, log=folder / "litellm.log", env=env)
    process.start()
    try:
        await until_healthy(process, lambda: answers_http(port, "/health/liveliness"), HEALTHY_SECONDS)
        yield process, port
    finally:
        process.stop()


def _body(folder: Path, name: str, model: str, **more: Any) -> Path:
    asked = {"model": model, "messages": [{"role": "user", "content": PROMPT}], **more}
    return _written(folder / f"{name}.json", orjson.dumps(asked))


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _token(bench: Bench) -> str:
    now = datetime.now(UTC)
    access = Access(
        run_id="load",
        rollout_id="load/0/0",
        program_id="load/0/0/1/1",
        partition=0,
        model=MODEL,
        model_seconds=60,
        issued=now,
        expires=now + timedelta(hours=1),
    )
    return bench.stack.signer.sign(access)


def _gateway(bench: Bench) -> dict[str, Sequence[int]]:
    return {"gateway": bench.stack.deployment.pids["model-gateway"]}


async def _http(target: Target, sizes: Sizes, rate: float) -> Any:
    return await _generated(
        "http",
        *("--url", target.url, "--body", str(target.body), "--token", str(target.token)),
        *("--rate", str(rate), "--seconds", str(sizes.seconds), "--connections", str(sizes.connections)),
    )


async def _kafka(bench: Bench, sizes: Sizes, rate: float) -> Any:
    deployment = bench.stack.deployment
    return await _generated(
        "kafka",
        *("--bootstrap", deployment.bootstrap, "--prefix", deployment.prefix),
        *("--partitions", str(deployment.partitions), "--model", MODEL),
        *("--rate", str(rate), "--seconds", str(sizes.seconds), "--calls", str(sizes.calls)),
    )


async def _generated(kind: str, *arguments: str) -> Any:
    """What a generator of load tells at its end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", f"benchmarks.load.{kind}", *arguments, stdout=asyncio.subprocess.PIPE
    )
    try:
        told, _ = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        raise
    if process.returncode:
        raise RuntimeError(f"the load {kind} ended with exit code {process.returncode}")
    return orjson.loads(told)


MEASUREMENT = Measurement(
    "gateway",
    measure,
    sizes=Sizes(),
    smoke=Sizes(seconds=1.0, rates=(50,), calls=200, connections=4, repeats=1),
    limit_seconds=540,
    shape=SHAPE,
)

if __name__ == "__main__":
    alone(MEASUREMENT)
