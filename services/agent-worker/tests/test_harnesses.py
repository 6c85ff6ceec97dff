"""Harnesses are loaded before anything waits for them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LOADS = """
from odradek.plugins import harness_names
from odradek_agent_worker.harnesses import find_harness, load_harnesses
load_harnesses({seconds})
print(find_harness({name!r}), find_harness.cache_info().misses == len(harness_names()))
"""


@pytest.fixture
def plugin(tmp_path: Path):
    """Makes a package that brings one harness, `brought`, whose module has this body."""

    def make(body: str) -> None:
        (tmp_path / "brought.py").write_text(body)
        info = tmp_path / "brought-0.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 0.1\n")
        (info / "entry_points.txt").write_text("[odradek.harnesses]\nbrought = brought:Brought\n")

    return make


def load(folder: Path, seconds: float, name: str = "brought") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LOADS.format(seconds=seconds, name=name)],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_all_are_loaded_at_the_start(plugin, tmp_path):
    plugin(
        "from odradek.harness import Harness\n"
        "class Brought(Harness):\n    name = 'brought'\n    async def run(self, rollout): ...\n"
    )
    done = load(tmp_path, 60)
    assert done.returncode == 0, done.stderr
    assert "brought.Brought" in done.stdout
    assert done.stdout.split()[-1] == "True", "nothing is left to be imported later"


def test_one_that_does_not_load_harms_nobody_else(plugin, tmp_path):
    plugin("raise RuntimeError('no')")
    done = load(tmp_path, 60, "single_turn")
    assert done.returncode == 0, done.stderr
    assert "SingleTurn" in done.stdout


def test_one_whose_import_hangs_ends_the_worker_and_is_named(plugin, tmp_path):
    plugin("import threading\nthreading.Event().wait()")
    done = load(tmp_path, 1)
    assert done.returncode != 0
    assert "brought.py" in done.stderr
