"""The keeper: restarts what dies, gives up out loud, and leaves nothing behind."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from odradek_local.keeper import Keeper
from odradek_local.process import Process, ProcessError
from odradek_local.restarts import RestartBudget
from odradek_local.state import PartStatus, StackState, Status

DEADLINE_S = 20.0


class Stand:
    """A part that is healthy as soon as it has said `ready` in its log once more."""

    port = 0
    pool: str | None = None

    def __init__(self, name: str, script: str, folder: Path):
        self.name = name
        self.process = Process(name, [sys.executable, "-c", script], log=folder / f"{name}.log")
        self.starts = 0

    def start(self) -> None:
        self.starts += 1
        self.process.start()

    async def healthy(self, deadline_s: float) -> None:
        await until(
            lambda: self.process.log.read_text().count("ready") >= self.starts or not self.process.running
        )
        if not self.process.running:
            raise self.process.failure("ended")

    def stop(self) -> None:
        self.process.stop()


LASTING = "import time; print('ready', flush=True); time.sleep(600)"
BROKEN = "print('no such luck', flush=True)"


async def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


def keeper(folder: Path) -> tuple[Keeper, list[Status]]:
    """A keeper, and the stack's status at each of its reports."""
    seen: list[Status] = []
    state = StackState(
        status=Status.STARTING,
        supervisor_pid=os.getpid(),
        started_at=datetime.now(UTC),
        bootstrap="",
        topic_prefix="",
        partitions=1,
        blob_store="",
        gateway_url="",
        models={},
        log=folder / "log",
    )
    return Keeper(state, lambda state: seen.append(state.status)), seen


async def test_a_part_that_is_killed_is_restarted(tmp_path: Path) -> None:
    part = Stand("part", LASTING, tmp_path)
    kept, seen = keeper(tmp_path)
    await kept.bring_up([part])
    keeping = asyncio.create_task(kept.keep())
    killed = part.process.pid
    os.kill(killed, signal.SIGKILL)
    await until(
        lambda: kept.state.parts[0].restarts == 1 and kept.state.parts[0].status is PartStatus.HEALTHY
    )
    assert part.process.running
    assert kept.state.parts[0].pid == part.process.pid != killed
    keeping.cancel()
    await kept.stop()
    assert not part.process.running
    assert seen[-1] is Status.STOPPED


async def test_a_part_that_dies_again_and_again_is_given_up_and_said(tmp_path: Path) -> None:
    dying = Stand("dying", LASTING, tmp_path)
    other = Stand("other", LASTING, tmp_path)
    kept, _ = keeper(tmp_path)
    await kept.bring_up([dying, other])
    dying.process.command = [sys.executable, "-c", BROKEN]
    keeping = asyncio.create_task(kept.keep())
    dying.process.kill()
    await until(lambda: kept.state.status is Status.DEGRADED)
    keeping.cancel()
    assert kept.state.parts[0].status is PartStatus.FAILED
    assert kept.state.error is not None
    assert "no such luck" in kept.state.error
    assert other.process.running
    await kept.stop()
    assert not other.process.running


async def test_a_part_that_never_becomes_healthy_is_an_error_with_its_log(tmp_path: Path) -> None:
    kept, _ = keeper(tmp_path)
    try:
        with pytest.raises(ProcessError, match="no such luck"):
            await kept.bring_up([Stand("broken", BROKEN, tmp_path)])
    finally:
        await kept.stop()


async def test_a_part_that_is_added_is_kept_and_one_that_is_removed_is_not(tmp_path: Path) -> None:
    first, more = Stand("first", LASTING, tmp_path), Stand("more", LASTING, tmp_path)
    kept, _ = keeper(tmp_path)
    await kept.bring_up([first])
    keeping = asyncio.create_task(kept.keep())
    await kept.add(more)
    more.process.kill()
    await until(lambda: kept.state.parts[1].restarts == 1 and more.process.running)
    await kept.remove(more)
    assert [part.name for part in kept.state.parts] == ["first"]
    assert not more.process.running
    assert more.starts == 2
    keeping.cancel()
    await kept.stop()
    assert not first.process.running


async def test_a_part_that_cannot_be_added_leaves_nothing_behind(tmp_path: Path) -> None:
    first, broken = Stand("first", LASTING, tmp_path), Stand("broken", BROKEN, tmp_path)
    kept, _ = keeper(tmp_path)
    await kept.bring_up([first])
    with pytest.raises(ProcessError, match="no such luck"):
        await kept.add(broken)
    assert [part.name for part in kept.state.parts] == ["first"]
    await kept.stop()


async def test_a_stack_is_well_again_when_the_part_that_was_given_up_is_removed(tmp_path: Path) -> None:
    first, dying = Stand("first", LASTING, tmp_path), Stand("dying", LASTING, tmp_path)
    kept, _ = keeper(tmp_path)
    await kept.bring_up([first, dying])
    dying.process.command = [sys.executable, "-c", BROKEN]
    keeping = asyncio.create_task(kept.keep())
    dying.process.kill()
    await until(lambda: kept.state.status is Status.DEGRADED)
    await kept.remove(dying)
    assert (kept.state.status, kept.state.error) == (Status.HEALTHY, None)
    keeping.cancel()
    await kept.stop()


def test_restarts_come_back_with_time() -> None:
    budget = RestartBudget(most=2, within_s=10)
    assert [budget.spend(now) for now in (0, 1, 2, 9.9, 10, 10.5, 11)] == [
        True,
        True,
        False,
        False,
        True,
        False,
        True,
    ]
