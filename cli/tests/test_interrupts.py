"""Ctrl-C as it really comes: a signal to the `odradek` process, on a terminal and off it."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from odradek_cli.errors import Exit
from odradek_schemas.events import RunStatus

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

ODRADEK = str(Path(sys.executable).with_name("odradek"))
DEADLINE_SECONDS = 60.0


def _hear_interrupts() -> None:
    """A shell lets what it starts in the background ignore them, and all that comes of it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A process on a pseudo-terminal: what it shows, what is typed, how it ends."""

    def __init__(self, *command: str) -> None:
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(
            [ODRADEK, *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_hear_interrupts,
        )
        os.close(slave)
        self.shown = ""

    def until(self, text: str) -> None:
        """Read until `text` is shown."""
        end = time.monotonic() + DEADLINE_SECONDS
        while text not in self.shown:
            assert time.monotonic() < end, f"{text!r} was not shown, but: {self.shown}"
            if select.select([self._master], [], [], 0.2)[0]:
                self.shown += os.read(self._master, 4096).decode()

    def press_ctrl_c(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def exit_code(self) -> int:
        return self._process.wait(DEADLINE_SECONDS)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)


@contextmanager
def terminal(*command: str) -> Iterator[Terminal]:
    opened = Terminal(*command)
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture
def watched(world: Any, makes: Any) -> Iterator[Terminal]:
    """`odradek watch` of a run that is half done."""
    world.write(makes.run(), makes.progress(2, reward_sum=1.0))
    with terminal("watch", "r") as opened:
        opened.until("2/4 done")
        opened.press_ctrl_c()
        opened.until("[c]ancel")
        yield opened


def test_asked_and_told_to_detach(watched: Terminal) -> None:
    watched.type("d\n")
    watched.until("odradek watch r")
    assert watched.exit_code() == Exit.INTERRUPTED


def test_a_second_ctrl_c_detaches(watched: Terminal) -> None:
    watched.press_ctrl_c()
    watched.until("odradek watch r")
    assert watched.exit_code() == Exit.INTERRUPTED


def test_asked_and_told_to_cancel(watched: Terminal, world: Any, makes: Any) -> None:
    watched.type("c\n")
    watched.until("what was done is kept")
    world.write(makes.reward(0, 0, 1.0), makes.finish(status=RunStatus.CANCELLED))
    watched.until("1 of 4 planned finished")
    assert watched.exit_code() == Exit.RUN_FAILED


def test_off_a_terminal_it_detaches(world: Any, makes: Any) -> None:
    world.write(makes.run(), makes.progress(2))
    process = subprocess.Popen(
        [ODRADEK, "watch", "r"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_hear_interrupts,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "2/4 done" in line:
            process.send_signal(signal.SIGINT)
            break
    rest = process.stderr.read()
    assert process.wait(DEADLINE_SECONDS) == Exit.INTERRUPTED
    assert "odradek watch r" in rest
    assert "Traceback" not in rest


def test_ctrl_c_is_how_a_live_status_ends_well(world: Any, makes: Any) -> None:
    world.write(makes.run(), makes.progress(2))
    with terminal("status", "--watch", "--every", "0.2") as opened:
        opened.until("2/4 done")
        opened.press_ctrl_c()
        assert opened.exit_code() == Exit.OK


def test_a_live_status_as_json_is_a_document_a_line(world: Any, makes: Any) -> None:
    world.write(makes.run(), makes.progress(2))
    process = subprocess.Popen(
        [ODRADEK, "status", "--watch", "--json", "--every", "0.2"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_hear_interrupts,
    )
    assert process.stdout is not None
    looks = [json.loads(process.stdout.readline()) for _ in range(2)]
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == Exit.OK
    assert told == ""
    assert [look["runs"][0]["progress"]["finished"] for look in looks] == [2, 2]
