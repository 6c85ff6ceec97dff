"""A worker whose loop stands still ends, even when no Python code can run."""

import subprocess
import sys

_SCRIPT = """
import asyncio, re
from odradek_env_worker.watchdog import Watchdog

async def main():
    watchdog = Watchdog({seconds})
    watchdog.start()
    watchdog.start()
    await asyncio.sleep(0.01)
    {deed}

asyncio.run(main())
print("alive")
"""


def _run(deed: str, seconds: float) -> "subprocess.CompletedProcess[str]":
    script = _SCRIPT.format(deed=deed, seconds=seconds)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)


def test_a_tool_that_holds_the_interpreter_ends_the_worker_and_is_named() -> None:
    done = _run("await asyncio.to_thread(lambda: re.match(r'(a+)+$', 'a' * 64 + 'b'))", 0.5)
    assert done.returncode == 1
    assert "re" in done.stderr
    assert "most recent call first" in done.stderr
    assert "alive" not in done.stdout


def test_a_loop_that_turns_lives_on() -> None:
    done = _run("await asyncio.sleep(1.2)", 0.6)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
