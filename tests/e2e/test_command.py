"""The `odradek` command on a whole stack, as a person uses it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import RunningStack

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


def odradek(stack: RunningStack, *arguments: str, code: int = 0) -> str:
    """What the command prints on its standard output; fails unless it exits with `code`."""
    done = subprocess.run(
        [Path(sys.executable).with_name("odradek"), *arguments],
        env={**os.environ, "ODRADEK_DATA_DIR": str(stack.settings.folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def test_run_then_results_then_show_then_audit(stack: RunningStack, shared_data: Path) -> None:
    given = shared_data / "mcqa" / "example.jsonl"
    odradek(stack, "run", "mcqa", "--model", "mcqa", "--samples", "4", "--input", str(given))
    results = json.loads(odradek(stack, "results", "--json"))
    assert results["planned"] == 20
    rollout = f"{results['run_id']}/0/0"
    assert "boxed" in odradek(stack, "show", rollout)
    assert results["run_id"] in odradek(stack, "runs")
    standing = json.loads(odradek(stack, "status", results["run_id"], "--json"))
    assert standing["run"]["status"] == "finished"
    assert set(standing["waiting"].values()) == {0}
    assert standing["waits"] == standing["stalled"] == []
    assert {len(members) for members in standing["workers"].values()} == {1}
    audit = json.loads(odradek(stack, "audit", results["run_id"], "--json"))
    assert (audit["verdict"], audit["rollouts"], audit["rewards"]) == ("clean", 20, 20)
    assert "20 rewarded" in odradek(stack, "audit")


def test_bad_input_starts_nothing(stack: RunningStack, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"task": {}}\n')
    odradek(stack, "run", "mcqa", "--model", "mcqa", "--input", str(bad), code=4)
    odradek(stack, "run", "mcqa", "--model", "no-such-model", code=4)


def test_status_names_every_part(stack: RunningStack) -> None:
    status = odradek(stack, "status")
    for part in ("kafka", "task-producer", "agent-worker", "env-worker", "verifier-worker", "model-gateway"):
        assert part in status
