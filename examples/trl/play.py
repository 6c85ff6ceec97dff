"""The whole example: a model, its server, Odradek, a run that is played by demand, and a trainer that reads it.

    python play.py --trainer grpo --python TRL_VENV/bin/python --out FOLDER

Run it with the Python that Odradek is installed in, and `letters/` too. `--kill-at 70` kills the trainer (SIGKILL) once
it has logged that step, and starts it again from its last checkpoint.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ODRADEK = Path(sys.executable).with_name("odradek")
SCRIPTS = {"grpo": "grpo.py", "async": "async_grpo.py"}
SPARE_TASKS = 64
"""Beyond those that the steps need: groups may be dropped for their age."""
GROUPS_A_STEP, GROUP, TOKENS = 4, 8, 16
COMMAND_SECONDS, START_SECONDS, STEP_SECONDS, END_SECONDS = 600.0, 600.0, 120.0, 20.0
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""Threads spin while they wait for each other: beside other work two are many times slower, and the model is tiny."""


def main() -> None:
    asked = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as an exception, so that all is stopped
    asked.out.mkdir(parents=True, exist_ok=True)
    model = asked.out / "model"
    if not model.exists():
        _do([str(asked.python), "tiny_model.py", str(model)])
    with _policy_server(asked, model) as server, _stack(asked.out / "odradek", server.url) as stack:
        server.wait()
        run = _request_run(asked)
        began = time.monotonic()
        _train(asked, run, stack, server.url, model)
        print(
            f"{asked.steps} steps in {time.monotonic() - began:.0f} s; see {asked.out / 'trainer/steps.jsonl'}"
        )
        odradek("cancel", run)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trainer", choices=SCRIPTS, required=True)
    parser.add_argument(
        "--python", type=Path, required=True, help="of the environment that TRL is installed in"
    )
    parser.add_argument(
        "--out", type=lambda text: Path(text).absolute(), required=True, help="a folder for all of it"
    )
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--save-steps", type=int, default=25)
    parser.add_argument(
        "--ahead", type=int, default=GROUPS_A_STEP, help="groups played while the trainer computes"
    )
    parser.add_argument(
        "--kill-at", type=int, default=None, help="the step after which the trainer is killed, once"
    )
    return parser.parse_args()


def odradek(*arguments: str) -> str:
    """One command of the CLI; returns what it prints."""
    done = subprocess.run([ODRADEK, *arguments], stdout=subprocess.PIPE, text=True, timeout=COMMAND_SECONDS)
    if done.returncode:
        sys.exit(f"odradek {' '.join(arguments)} ended with {done.returncode}")
    return done.stdout


@dataclass(frozen=True)
class _Server:
    """The policy server, which starts while the stack does."""

    url: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def wait(self) -> None:
        until = time.monotonic() + START_SECONDS
        while not _answers(f"{self.url}/health"):
            if self.process.poll() is not None or time.monotonic() > until:
                sys.exit(f"the policy server did not start: see {self.log}")
            time.sleep(0.2)


@contextmanager
def _policy_server(asked: argparse.Namespace, model: Path) -> Iterator[_Server]:
    port, log = _free_port(), asked.out / "policy_server.log"
    command = [str(asked.python), "policy_server.py", "--model", str(model), "--port", str(port)]
    with _running(command, log) as process:
        yield _Server(f"http://127.0.0.1:{port}", process, log)


@contextmanager
def _stack(folder: Path, server: str) -> Iterator[dict[str, Any]]:
    """A local stack of its own, on free ports."""
    ports = ("KAFKA", "VALKEY", "SERVICES", "FRONT")
    os.environ.update({"ODRADEK_DATA_DIR": str(folder), **{f"ODRADEK_{name}_PORT": "0" for name in ports}})
    model = f"policy={server}/v1,preset=vllm,model=policy"
    try:
        yield json.loads(odradek("up", "--no-local-model", "--model", model, "--json"))
    finally:
        odradek("down")


def _request_run(asked: argparse.Namespace) -> str:
    """A run that plays nothing before it is asked to; returns its id."""
    tasks = asked.out / "tasks.jsonl"
    count = asked.steps * GROUPS_A_STEP + SPARE_TASKS
    tasks.write_text(_do([sys.executable, "-m", "odradek_letters", str(count)]))
    what = ("run", "letters", "--model", "policy", "--input", str(tasks), "--samples", str(GROUP))
    how = ("--temperature", "1", "--max-tokens", str(TOKENS), "--concurrency", "128", "--demand", "0")
    run_id: str = json.loads(odradek(*what, *how, "--detach", "--json"))["run_id"]
    return run_id


def _train(asked: argparse.Namespace, run: str, stack: dict[str, Any], server: str, model: Path) -> None:
    """Until all steps are done; the trainer is killed on its way where that was asked."""
    command = [str(asked.python), SCRIPTS[asked.trainer], "--run", run, "--gateway", stack["gateway_url"]]
    command += ["--server", server, "--model", str(model), "--out", str(asked.out / "trainer")]
    command += [
        f"--{name}={getattr(asked, name.replace('-', '_'))}" for name in ("steps", "save-steps", "ahead")
    ]
    env = {
        "ODRADEK_BOOTSTRAP_SERVERS": stack["bootstrap"],
        "ODRADEK_TOPIC_PREFIX": stack["topic_prefix"],
        "ODRADEK_BLOB_STORE": stack["blob_store"],
        "ODRADEK_TOKEN": odradek("token").strip(),
    }
    steps = asked.out / "trainer" / "steps.jsonl"
    if asked.kill_at is not None:
        with _running(command, asked.out / "trainer-killed.log", env) as process:
            _wait(process, steps, asked.kill_at)
            if process.poll() is not None:
                sys.exit(f"the trainer ended before it was killed: see {asked.out / 'trainer-killed.log'}")
            process.kill()
            print(f"killed the trainer after step {last_step(steps)}")
    with _running(command, asked.out / "trainer.log", env) as process:
        _wait(process, steps, None)
        if process.returncode:
            sys.exit(f"the trainer ended with {process.returncode}: see {asked.out / 'trainer.log'}")


def _wait(process: "subprocess.Popen[bytes]", steps: Path, until: int | None) -> None:
    """Until the trainer ends, or has logged a step; a trainer that logs none for long is given up."""
    seen, since = last_step(steps), time.monotonic()
    while process.poll() is None and (until is None or last_step(steps) < until):
        time.sleep(0.2)
        if (now := last_step(steps)) != seen:
            seen, since = now, time.monotonic()
        elif time.monotonic() - since > START_SECONDS + STEP_SECONDS:
            sys.exit(f"the trainer logged no step after {seen} for {START_SECONDS + STEP_SECONDS:.0f} s")


def last_step(steps: Path) -> int:
    """The last step that was logged; 0 before the first."""
    lines = steps.read_text().splitlines() if steps.exists() else []
    return int(json.loads(lines[-1])["step"]) if lines else 0


@contextmanager
def _running(
    command: Sequence[str], log: Path, env: dict[str, str] | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=HERE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**ONE_THREAD, **os.environ, **(env or {})},
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(END_SECONDS)


def _do(command: list[str]) -> str:
    done = subprocess.run(
        command,
        cwd=HERE,
        check=True,
        timeout=COMMAND_SECONDS,
        stdout=subprocess.PIPE,
        text=True,
        env={**ONE_THREAD, **os.environ},
    )
    return done.stdout


def _free_port() -> int:
    with socket.socket() as handle:
        handle.bind(("127.0.0.1", 0))
        return int(handle.getsockname()[1])


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


if __name__ == "__main__":
    main()
