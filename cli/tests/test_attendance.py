"""A run whose workers, or whose Kafka, are gone says so instead of hanging: real workers, really killed."""

import asyncio
import os
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from nacl.public import PrivateKey

from odradek.plugins import load_environment
from odradek_cli import local
from odradek_cli.attendance import missing
from odradek_cli.deployment import find_deployment
from odradek_cli.errors import Exit
from odradek_cli.kafka import open_log
from odradek_local.kafka import KafkaBroker
from odradek_runtime.brokers import Brokers
from odradek_runtime.topics import apply_topics
from odradek_schemas.events import Dataset
from odradek_schemas.topics import AGENT, PRODUCER, WORKERS

pytestmark = pytest.mark.kafka

WITHIN = 40.0


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that must come about."""
    deadline = time.monotonic() + WITHIN
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {WITHIN:g} s"
        time.sleep(0.1)


@contextmanager
def running(worker: str, folder: Path, partitions: int) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of the deployment that the environment names; it is killed at the end, if it lives."""
    key = folder / "sealing.pub"
    key.write_bytes(b64encode(bytes(PrivateKey.generate().public_key)))
    settings = {
        "PARTITIONS": str(partitions),
        "SEALING_PUBLIC_KEY_FILE": str(key),
        "SESSION_TIMEOUT_SECONDS": "2",
    }
    process = subprocess.Popen(
        [Path(sys.executable).with_name(f"odradek-{worker}")],
        env=os.environ | {f"ODRADEK_{name}": value for name, value in settings.items()},
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)


@contextmanager
def watching(run_id: str, folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """`odradek watch` as a person sees it, and the file that gets its standard error."""
    told = folder / "stderr"
    with told.open("w") as stderr:
        process = subprocess.Popen(
            [Path(sys.executable).with_name("odradek"), "watch", run_id, *options],
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            text=True,
        )
        try:
            yield process, told
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            process.wait(10)


def who_is_missing() -> list[str]:
    async def ask() -> list[str]:
        async with open_log(find_deployment()) as log:
            return [who for who, _meaning in await missing(log)]

    return asyncio.run(ask())


def test_a_watch_names_the_workers_that_are_killed(world: Any, makes: Any, tmp_path: Path) -> None:
    tasks = load_environment("mcqa").examples()
    dataset = Dataset(uri=tasks.absolute().as_uri(), name=tasks.name)
    world.write(makes.run("r").model_copy(update={"dataset": dataset, "time": datetime.now(UTC)}))
    with (
        running(PRODUCER, tmp_path, 3) as producer,
        running(AGENT, tmp_path, 3) as agent,
        watching("r", tmp_path, "--patience", "600") as (_watch, told),
    ):
        until(lambda: "no model-gateway since" in told.read_text(), "calls wait for a gateway")
        agent.kill()
        until(lambda: "no agent-worker since" in told.read_text(), "the watch says who is missing")
        producer.kill()
        until(lambda: "no task-producer since" in told.read_text(), "the watch says who else is missing")
        assert "env-worker" not in told.read_text(), "nothing waits for one"


def test_a_watch_ends_when_nobody_comes(world: Any, makes: Any, odradek: Any) -> None:
    world.write(makes.run("r"))
    done = odradek("watch", "r", "--patience", "1")
    assert done.exit_code == Exit.NO_STACK
    assert "run r can't go on for 1 s: no task-producer since" in done.stderr
    assert "odradek watch r" in done.stderr


def test_workers_that_nothing_waits_for_may_be_away(world: Any, makes: Any) -> None:
    assert who_is_missing() == [f"no {PRODUCER}", f"no {AGENT}"]
    world.write(makes.trajectory("r/0/0"))
    assert who_is_missing() == [f"no {worker}" for worker in (PRODUCER, AGENT, "verifier-worker")]
    assert {"env-worker", "model-gateway"} < set(WORKERS)


def test_a_watch_says_that_the_broker_is_gone(
    makes: Any, tmp_path: Path, prefix: str, monkeypatch: pytest.MonkeyPatch, world_at: Any
) -> None:
    broker = KafkaBroker(tmp_path / "kafka", port=0)
    broker.start()
    try:
        broker.wait_healthy()
        asyncio.run(apply_topics(Brokers(broker.bootstrap), prefix, 3))
        monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", broker.bootstrap)
        monkeypatch.setenv("ODRADEK_TOPIC_PREFIX", prefix)
        world_at(broker.bootstrap, prefix).write(makes.run("r"))
        with watching("r", tmp_path, "--patience", "4") as (watch, told):
            until(lambda: "no task-producer since" in told.read_text(), "the watch has begun")
            broker.process.kill()
            until(lambda: f"Kafka at {broker.bootstrap} does not answer" in told.read_text(), "it says so")
            assert watch.wait(WITHIN) == Exit.NO_STACK
    finally:
        broker.stop()


def test_the_local_stacks_supervisor_is_believed(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has ended there is known at once, without waiting for sessions to time out."""

    class State:
        status, error, parts = "stopped", "The supervisor (pid 1) ended without stopping the stack.", ()

    monkeypatch.setattr(local, "stack_state", State)
    assert who_is_missing() == [f"no {PRODUCER}", f"no {AGENT}"], (
        "another deployment's stack is not asked about"
    )
    monkeypatch.setattr("odradek_cli.deployment.Deployment.local", True)
    assert who_is_missing() == ["the local stack does not run"]
