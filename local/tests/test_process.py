"""Child processes: they end with their parent, whatever ends it, and are stopped with their whole group."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from odradek_local.process import Process

DEADLINE_S = 20.0
SLEEP = [sys.executable, "-c", "import time; print('asleep', flush=True); time.sleep(600)"]
PARENT = """
import sys, time
from pathlib import Path
from odradek_local.process import Process
child = Process("child", sys.argv[2:], log=Path(sys.argv[1]))
child.start()
print(child.pid, flush=True)
time.sleep(600)
"""


def wait_until(holds: object, what: str) -> None:
    until = time.monotonic() + DEADLINE_S
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < until, f"not within {DEADLINE_S} s: {what}"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(log), *SLEEP], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    wait_until(lambda: "asleep" in log.read_text(), "the child runs")
    parent.kill()
    parent.communicate()
    wait_until(lambda: not alive(child), "the child is gone")


def test_stop_ends_one_that_ignores_sigterm_and_its_own_children(tmp_path: Path) -> None:
    script = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(subprocess.Popen(["sleep", "600"]).pid, flush=True)
time.sleep(600)
"""
    process = Process("stubborn", [sys.executable, "-c", script], log=tmp_path / "log")
    process.start()
    wait_until(lambda: process.log.read_text().endswith("\n"), "it runs")
    grandchild = int(process.log.read_text())
    process.stop(grace_s=0.2)
    assert process.exit_code == -signal.SIGKILL
    wait_until(lambda: not alive(grandchild), "its child is gone")


async def test_the_end_of_a_process_is_awaited_and_its_log_is_kept_over_a_restart(tmp_path: Path) -> None:
    process = Process(
        "short", [sys.executable, "-c", "print('hello'); raise SystemExit(7)"], log=tmp_path / "log"
    )
    for _ in range(2):
        process.start()
        assert await process.ended() == 7
    assert process.log.read_text() == "hello\nhello\n"
    assert "hello" in str(process.failure("ended"))
    assert str(process.log) in str(process.failure("ended"))


def test_a_second_start_of_one_that_runs_is_refused(tmp_path: Path) -> None:
    process = Process("sleeper", SLEEP, log=tmp_path / "log")
    process.start()
    try:
        with pytest.raises(RuntimeError, match="runs already"):
            process.start()
    finally:
        process.stop()
    assert not alive(process.pid)


def test_a_child_whose_parent_is_gone_already_does_not_start(tmp_path: Path) -> None:
    from odradek_local import guard

    nobody = str(os.getppid())
    done = subprocess.run(
        [sys.executable, guard.__file__, nobody, "echo", "ran"],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert done.returncode != 0
    assert done.stdout == ""
