"""Verifier processes never outlive their worker."""

import subprocess
import sys
import time
from pathlib import Path


def test_processes_die_with_their_worker(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    script = f"""
import asyncio, pathlib, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.support.scoring import Bounds, Pool, make_job
async def main():
    pool = Pool(1, Bounds(job_seconds=60.0, start_seconds=60.0, memory_mib=1024))
    pid = (await pool.verify(make_job("see_pid"))).reward.reward
    stuck = asyncio.create_task(pool.verify(make_job("loop")))
    await asyncio.sleep(0.3)
    pathlib.Path({str(note)!r}).write_text(str(int(pid)))
    await stuck
asyncio.run(main())
"""
    worker = subprocess.Popen([sys.executable, "-c", script])
    child = _wait_for(note, worker)
    worker.kill()
    worker.wait()
    end = time.monotonic() + 20
    while not _is_gone(child):
        assert time.monotonic() < end, "the verifier process outlives its worker"
        time.sleep(0.02)


def _wait_for(note: Path, worker: "subprocess.Popen[bytes]") -> int:
    while not note.exists() or not note.read_text():
        assert worker.poll() is None, "the worker ended before its time"
        time.sleep(0.02)
    return int(note.read_text())


def _is_gone(pid: int) -> bool:
    """Whether the process has ended, though whoever inherited it may not have noticed yet."""
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
