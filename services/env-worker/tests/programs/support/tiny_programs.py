"""Programs of a few lines, run as any agent program is, and looks at what is left of them."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from odradek.programs import Call, Program

CALL = Call(prompt="Do it.", model="m", base_url="http://gateway:1", token="key-1", rollout_id="run/0/0")

PATIENCE_SECONDS = 60.0
LEAVING = """
def note():
    open(f"{os.getpid()}", "x").close()

def noted():
    return sum(map(str.isdecimal, os.listdir()))

def leave(work):
    before = noted()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.environ.clear()
            note()
            work()
        os._exit(0)
    while noted() == before:
        time.sleep(0.01)
"""
"""A process notes its number in the workspace; one that leaves has another parent, session and environment."""


def python(code: str, **fields: Any) -> Program:
    """A program that runs these lines."""
    given = {
        "name": "agent",
        "dialect": "chat",
        "streams": False,
        "command": [sys.executable, "-c", f"import os, signal, subprocess, sys, time\n{LEAVING}\n{code}"],
        "stdin": "{prompt}",
        "environment": {"URL": "{base_url}", "KEY": "{token}"},
    }
    return Program.model_validate(given | fields)


def pids_in(folder: Path, count: int) -> list[int]:
    """The numbers that processes have noted, when there are so many."""
    wait_until(lambda: len(_numbers(folder)) >= count, f"there are not {count} processes")
    return _numbers(folder)


def wait_until(there: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not there():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def gone(pid: int) -> bool:
    """Whether a process has ended, though whoever inherited it may not have noticed yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def entries(folder: Path) -> list[str]:
    return os.listdir(folder)


def _numbers(folder: Path) -> list[int]:
    return [int(name) for name in entries(folder) if name.isdecimal()]
