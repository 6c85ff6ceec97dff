"""Which action is blamed for the deaths of its worker."""

import asyncio
import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from odradek_env_worker.flights import ALONE_AFTER, MOST_DEATHS, Flights


async def fly(flights: Flights, action: str) -> None:
    async with flights.turn(action):
        with flights.noted(action):
            pass


def next_worker(path: Path) -> Flights:
    """What another worker would make of the file, were this one to die now."""
    return Flights(Path(shutil.copy(path, path.with_name("copy"))))


def die(path: Path, *actions: str) -> None:
    """A worker that begins `actions` and is killed while it is at work on them."""
    program = f"""
import asyncio, os, signal
from pathlib import Path
from odradek_env_worker.flights import Flights

async def main():
    flights = Flights(Path({str(path)!r}))
    at_work = [flights.noted(action) for action in {actions!r}]
    for one in at_work:
        one.__enter__()
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL


def test_what_was_at_work_at_a_kill_is_known_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "flights"
    die(path, "a", "b")
    die(path, "b")
    flights = Flights(path)
    assert [flights.deaths(action) for action in "abc"] == [1, 2, 0]


async def test_what_ended_is_not_suspected(tmp_path: Path) -> None:
    path = tmp_path / "flights"
    flights = Flights(path)
    await fly(flights, "a")
    with pytest.raises(ValueError, match="tool"), flights.noted("b"):
        raise ValueError("tool")
    assert [next_worker(path).deaths(action) for action in "ab"] == [0, 0]


async def test_one_that_comes_to_its_end_is_cleared(tmp_path: Path) -> None:
    path = tmp_path / "flights"
    die(path, "a")
    flights = Flights(path)
    await fly(flights, "a")
    assert flights.deaths("a") == next_worker(path).deaths("a") == 0


async def test_suspects_run_one_at_a_time_beside_the_others(tmp_path: Path) -> None:
    path = tmp_path / "flights"
    for _ in range(ALONE_AFTER):
        die(path, "a", "b")
    flights = Flights(path)
    async with flights.turn("a"):
        other = asyncio.create_task(fly(flights, "b"))
        async with asyncio.timeout(5):
            await fly(flights, "innocent")
        assert not other.done()
    async with asyncio.timeout(5):
        await other


@pytest.mark.parametrize(("first", "then"), [("twice", "once"), ("once", "twice")])
async def test_one_that_died_once_is_not_beside_one_that_died_twice(
    tmp_path: Path, first: str, then: str
) -> None:
    """Caught: a second killer, which died once so far, ends the worker while another's suspect has its turn: that
    one, innocent, was at work at three deaths."""
    path = tmp_path / "flights"
    die(path, "twice")
    die(path, "twice", "once", "also once")
    flights = Flights(path)
    async with flights.turn(first):
        other = asyncio.create_task(fly(flights, then))
        if first == "once":
            async with asyncio.timeout(5):
                await fly(flights, "also once")
        await asyncio.sleep(0.05)
        assert not other.done()
    async with asyncio.timeout(5):
        await other


async def test_one_that_gives_up_waiting_leaves_the_turn_to_the_next(tmp_path: Path) -> None:
    """Its run was cancelled, or its partition went to another worker."""
    path = tmp_path / "flights"
    for _ in range(ALONE_AFTER):
        die(path, "a", "b", "c")
    flights = Flights(path)
    async with flights.turn("a"):
        waiting = asyncio.create_task(fly(flights, "b"))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.wait([waiting])
    async with asyncio.timeout(5):
        await fly(flights, "c")


def test_the_deaths_of_one_that_waits_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "flights"
    for _ in range(ALONE_AFTER):
        die(path, "a", "b")
    die(path, "a")
    flights = Flights(path)
    assert flights.deaths("a") == MOST_DEATHS
    assert flights.deaths("b") == ALONE_AFTER


async def test_forgiven(tmp_path: Path) -> None:
    path = tmp_path / "flights"
    flights = Flights(path)
    with flights.noted("a"):
        flights.forgive()
        assert next_worker(path).deaths("a") == 0


async def test_the_file_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odradek_env_worker.flights.FILE_BYTES", 1000)
    path = tmp_path / "flights"
    flights = Flights(path)
    with flights.noted("long"):
        for number in range(200):
            await fly(flights, f"a/{number}")
        assert path.stat().st_size == 1000
        assert next_worker(path).deaths("long") == 1


async def test_a_full_disk_fails_no_action(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, offset: int, size: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    flights = Flights(tmp_path / "flights")
    await fly(flights, "a")
    await fly(flights, "b")


async def test_what_another_living_worker_does_is_no_sign_of_a_death(tmp_path: Path) -> None:
    path = tmp_path / "flights"
    flights = Flights(path)
    with flights.noted("a"):
        other = Flights(path)
        await fly(other, "a")
        assert other.deaths("a") == 0
        assert next_worker(path).deaths("a") == 1


async def test_without_a_file_nobody_is_suspected() -> None:
    flights = Flights(None)
    await fly(flights, "a")
    assert flights.deaths("a") == 0
