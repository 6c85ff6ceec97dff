"""Fault points: ordered by files, taken once, and absent unless they are asked for."""

import subprocess
import sys
from pathlib import Path

from odradek_runtime.faults import VARIABLE, reach

PROGRAM = """
import sys
sys.argv[0] = "/usr/bin/odradek-agent-worker"
from odradek_runtime.faults import reach
for number in range(3):
    reach("commit.open")
    print(number, flush=True)
"""


def run(folder: Path) -> tuple[int, str]:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={VARIABLE: str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return ended.returncode, ended.stdout


def test_a_process_is_struck_at_the_ordered_passage(tmp_path: Path) -> None:
    (tmp_path / "agent-worker.commit.open").write_text("kill 2")
    assert run(tmp_path) == (-9, "0\n")


def test_an_order_strikes_one_process_only(tmp_path: Path) -> None:
    (tmp_path / "agent-worker.commit.open").write_text("term")
    assert run(tmp_path) == (-15, "")
    assert run(tmp_path) == (0, "0\n1\n2\n")


def test_orders_for_others_and_other_points_do_nothing(tmp_path: Path) -> None:
    (tmp_path / "env-worker.commit.open").write_text("kill")
    (tmp_path / "agent-worker.commit.done").write_text("kill")
    assert run(tmp_path) == (0, "0\n1\n2\n")


def test_without_the_setting_there_are_no_fault_points(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    assert reach.__name__ == "_nothing"
