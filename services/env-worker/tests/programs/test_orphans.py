"""Programs never outlive their worker, and leave no home behind it."""

import subprocess
import sys
from pathlib import Path

from tiny_programs import entries, gone, pids_in, wait_until

WORKER = """
import asyncio, sys, tempfile
from pathlib import Path
sys.path.insert(0, {support!r})
tempfile.tempdir = {homes!r}
from tiny_programs import CALL, python
from odradek_env_worker.programs import run
agent = python("note(); leave(lambda: time.sleep(600)); time.sleep(600)")
asyncio.run(run(agent, CALL, Path({workspace!r}), 600))
"""


def test_a_killed_worker_takes_its_programs_along(workspace: Path, homes: Path) -> None:
    support = str(Path(__file__).parent / "support")
    code = WORKER.format(support=support, homes=str(homes), workspace=str(workspace))
    worker = subprocess.Popen([sys.executable, "-c", code])
    pids = pids_in(workspace, 2)
    assert len(entries(homes)) == 1
    worker.kill()
    worker.wait(timeout=60)
    wait_until(lambda: all(map(gone, pids)), "the program outlives its worker")
    wait_until(lambda: not entries(homes), "its home does")
