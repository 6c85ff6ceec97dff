"""`odradek autoscale` beside a run: the pool grows with what is open, shrinks when nothing is, and nothing is lost."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from odradek_local.supervisor import scale
from tests.conftest import RunningStack
from tests.support.stack import MISCHIEF

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(400)]

POOL = "env-worker"
WITHIN_SECONDS = 120.0
SETTINGS = ("target=6", "max=3", "grow_seconds=0", "shrink_seconds=3")


def environment(stack: RunningStack) -> dict[str, str]:
    return os.environ | MISCHIEF | {"ODRADEK_DATA_DIR": str(stack.settings.folder)}


def odradek(stack: RunningStack, *arguments: str) -> str:
    """What the command prints on its standard output."""
    done = subprocess.run(
        [Path(sys.executable).with_name("odradek"), *arguments],
        env=environment(stack),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def autoscaling(stack: RunningStack, path: Path) -> Iterator[Path]:
    """It must end well when it is told to; the pool is then made as it was."""
    settings = [word for setting in SETTINGS for word in ("--set", f"{POOL}.{setting}")]
    with path.open("w") as out:
        process = subprocess.Popen(
            [Path(sys.executable).with_name("odradek"), "autoscale", "--json", "--pool", POOL, *settings],
            env=environment(stack),
            stdout=out,
        )
        try:
            yield path
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()
            scale(stack.settings, {POOL: 1})


def steps(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def test_a_pool_grows_and_shrinks_and_nothing_is_lost(stack: RunningStack, tmp_path: Path) -> None:
    nap = {"name": "misbehave", "arguments": {"deed": "nap"}}
    rows = tmp_path / "naps.jsonl"
    rows.write_text((json.dumps({"task": {"calls": [nap, nap]}, "answer": {"expected": 0}}) + "\n") * 4)
    with autoscaling(stack, tmp_path / "steps.jsonl") as path:
        told = odradek(
            stack, "run", "chaos", "--model", "planned", "--input", str(rows), "--samples", "6", "--json"
        )
        until = time.monotonic() + WITHIN_SECONDS
        while (last := steps(path)[-1])["replicas"] != 1 or not last["load"] or last["load"]["load"]:
            assert time.monotonic() < until, f"it did not shrink: {last}"
            time.sleep(0.5)
        seen = steps(path)
    most = max(step["load"]["load"] for step in seen if step["load"])
    assert most > 6, "open sessions are load"
    assert max(step["replicas"] or 0 for step in seen) == 3
    grown, shrunk = (
        [
            step
            for step in seen
            if step["wanted"] is not None and sign * (step["wanted"] - step["replicas"]) > 0
        ]
        for sign in (1, -1)
    )
    assert grown, "each change is a step that says so"
    assert shrunk
    assert [part.name for part in stack.state.parts if part.pool == POOL] == [POOL]
    audit = json.loads(odradek(stack, "audit", json.loads(told)["run_id"], "--json"))
    assert (audit["verdict"], audit["rollouts"], audit["rewards"]) == ("clean", 24, 24)
