"""The whole local stack, its services included: up, killed, up again, down."""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.models import ModelSettings
from odradek_local.settings import LocalSettings
from odradek_local.state import StackError, StackState, Status
from odradek_local.supervisor import down, scale, status, up
from odradek_runtime.brokers import Brokers
from odradek_runtime.groups import open_groups
from odradek_runtime.kafka_security import PLAINTEXT
from odradek_runtime.names import Names

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(400)]

ENDED_WITHIN_S = 20.0


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[LocalSettings]:
    nowhere = {"scripted": ModelSettings.at("http://127.0.0.1:1/v1", model="scripted")}
    settings = LocalSettings(
        data_dir=tmp_path, local_model=False, models=nowhere, kafka_port=0, valkey_port=0, partitions=2
    )
    yield settings
    down(settings)


def sessions() -> set[int]:
    """The sessions of all running processes; each part leads one, and what it starts belongs to it."""
    found = set()
    for process in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = process.read_text().rsplit(")", 1)[1].split()[:4]
        except OSError:
            continue  # it ended just now
        if state not in "ZX":
            found.add(int(session))
    return found


def assert_all_end(state: StackState) -> None:
    until = time.monotonic() + ENDED_WITHIN_S
    while left := [part.name for part in state.parts if part.pid in sessions()]:
        assert time.monotonic() < until, f"still running: {left}"
        time.sleep(0.05)


def kill_supervisor(state: StackState) -> None:

    os.kill(state.supervisor_pid, signal.SIGKILL)


def cluster(settings: LocalSettings) -> str:
    return (settings.folder / "kafka" / "log" / "meta.properties").read_text()


def test_all_end_with_the_supervisor_and_the_data_stay(settings: LocalSettings) -> None:
    first = up(settings)
    assert {part.name for part in first.parts} == {
        "kafka",
        "valkey",
        "task-producer",
        "agent-worker",
        "env-worker",
        "verifier-worker",
        "model-gateway",
    }
    assert up(settings) == first  # a second `up` joins what is there
    kept = cluster(settings)
    kill_supervisor(first)
    assert_all_end(first)
    lost = status(settings)
    assert lost is not None
    assert lost.status is Status.STOPPED
    assert "ended without stopping" in (lost.error or "")

    second = up(settings)
    assert second.status is Status.HEALTHY
    assert cluster(settings) == kept
    assert down(settings)
    assert_all_end(second)
    stopped = status(settings)
    assert stopped is not None
    assert stopped.status is Status.STOPPED
    assert not down(settings)


def test_a_taken_port_is_said_and_another_partition_count_is_refused(settings: LocalSettings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        state = up(settings.model_copy(update={"kafka_port": port}))
    assert state.notes[0] == f"Port {port} is taken: Kafka listens on {state.parts[0].port}."
    assert state.bootstrap == f"127.0.0.1:{state.parts[0].port}"
    down(settings)
    with pytest.raises(StackError, match="partitions"):
        up(settings.model_copy(update={"partitions": 3}))
    failed = status(settings)
    assert failed is not None
    assert failed.status is Status.FAILED


def replicas(state: StackState, pool: str) -> list[str]:
    return [part.name for part in state.parts if part.pool == pool]


async def members(state: StackState, pool: str) -> int:
    """The members of a pool's group, as the broker knows them."""
    names = Names(state.topic_prefix)
    async with open_groups(Brokers(state.bootstrap, PLAINTEXT), names) as groups:
        return len(await groups.members(pool))


def test_pools_grow_and_shrink_while_the_stack_runs(settings: LocalSettings) -> None:
    state = up(settings.model_copy(update={"scale": {"agent-worker": 2}}))
    assert replicas(state, "agent-worker") == ["agent-worker", "agent-worker-1"]
    assert len({part.port for part in state.parts}) == len(state.parts)

    grown = scale(settings, {"env-worker": 2, "agent-worker": 1})
    assert replicas(grown, "env-worker") == ["env-worker", "env-worker-1"]
    assert replicas(grown, "agent-worker") == ["agent-worker"]
    gone = next(part for part in state.parts if part.name == "agent-worker-1")
    assert gone.pid not in sessions()
    assert asyncio.run(members(grown, "agent-worker")) == 1, "it left its group at once"

    for asked, said in (({"agent-worker": 3}, "from 0 to 2"), ({"agents": 1}, "no pool 'agents'")):
        with pytest.raises(StackError, match=said):
            scale(settings, asked)
    kill_supervisor(grown)
    assert_all_end(grown)
    again = up(settings)
    assert replicas(again, "env-worker") == ["env-worker"], (
        "what was asked of one stack is not asked of the next"
    )
    with pytest.raises(StackError, match="no local stack is running"):
        scale(settings.model_copy(update={"data_dir": settings.data_dir / "other"}), {"agent-worker": 1})
