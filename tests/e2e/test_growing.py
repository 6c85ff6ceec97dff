"""Partitions are added while rollouts are played: nothing is lost, and what was played before is found as ever."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from odradek_cli.deployment import Deployment
from odradek_cli.kafka import open_log
from odradek_local.health import answers_http, until_healthy
from odradek_local.ports import free_port
from odradek_local.process import Process
from odradek_local.settings import LocalSettings
from odradek_local.supervisor import down, scale, up
from odradek_runtime.brokers import Brokers
from odradek_schemas.topics import REWARDS, RUNS
from odradek_training import Deployment as Source
from odradek_training import RewardStream
from tests.conftest import RunningStack
from tests.support.stack import MISCHIEF, running_stack

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(1500)]

BEFORE, AFTER = 4, 8
TASKS, SAMPLES = 24, 4
READY_SECONDS = 120.0


@dataclass
class Grown:
    """A stack, and the workers that were started beside it on more partitions."""

    stack: RunningStack
    folder: Path
    added: list[Process] = field(default_factory=list)

    def odradek(self, *arguments: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [Path(sys.executable).with_name("odradek"), *arguments],
            env=os.environ
            | {"ODRADEK_DATA_DIR": str(self.stack.settings.folder), "ODRADEK_FAULTS": str(self.stack.faults)},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done

    def json(self, *arguments: str) -> Any:
        return json.loads(self.odradek(*arguments, "--json").stdout)

    def audited(self, *runs: str) -> list[tuple[str, int]]:
        reports = [self.json("audit", run) for run in runs]
        return [(report["verdict"], report["rewards"]) for report in reports]

    def worker(self, kind: str, partitions: int) -> tuple[Process, int]:
        """A worker like the stack's, which counts on so many partitions."""
        like, port = psutil.Process(self.pid(kind)), free_port()
        own = {
            "ODRADEK_HTTP_PORT": str(port),
            "ODRADEK_FRONT_PORT": "0",
            "ODRADEK_PARTITIONS": str(partitions),
        }
        env = like.environ() | own
        env.pop("ODRADEK_WORKER_ID")
        log = self.folder / f"{kind}-{partitions}.log"
        return Process(f"{kind} on {partitions}", like.cmdline(), log=log, env=env), port

    def pid(self, kind: str) -> int:
        return next(part.pid for part in self.stack.state.parts if part.name == kind)

    async def replace(self, kind: str) -> None:
        """A worker on the new number takes over from the one on the old."""
        process, port = self.worker(kind, AFTER)
        process.start()
        self.added.append(process)
        await until_healthy(process, lambda: answers_http(port, "/readyz"), READY_SECONDS)
        await asyncio.to_thread(scale, self.stack.settings, {kind: 0}, READY_SECONDS)

    async def places(self, run: str) -> tuple[set[int], Counter[int]]:
        """Where what is said of a run lies, and in which partitions how many of its first rewards."""
        state = self.stack.state
        deployment = Deployment(Brokers(state.bootstrap), state.topic_prefix, BEFORE, state.blob_store)
        async with open_log(deployment) as log:
            said = await log.scan(RUNS, lambda envelope: envelope.run_id == run)
            rewards = await log.scan(
                REWARDS, lambda envelope: envelope.run_id == run and envelope.scoring == "primary"
            )
        return {one.place.partition for one in said}, Counter(one.place.partition for one in rewards)

    def stream(self, run: str, position: Any = None) -> RewardStream:
        state = self.stack.state
        source = Source(state.bootstrap, state.topic_prefix, state.blob_store)
        return RewardStream(source, run=run, position=position, idle_timeout=120.0)


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grown]:
    folder = tmp_path_factory.mktemp("grown")
    with running_stack(folder / "stack", MISCHIEF, local_model=False) as stack:
        grown = Grown(stack, folder)
        yield grown
        for process in grown.added:
            process.stop()


def row(number: int) -> dict[str, Any]:
    options = [{letter: f"Possibility {letter}"} for letter in "ABCD"]
    return {
        "task": {"question": f"Question {number}", "options": options},
        "answer": {"expected_answer": "A"},
    }


def asked(grown: Grown, data: Path, model: str, *more: str) -> Any:
    return grown.json("run", "mcqa", "--model", model, "--samples", str(SAMPLES), "--input", str(data), *more)


async def test_partitions_are_added_under_live_rollouts(grown: Grown, tmp_path: Path) -> None:
    data = tmp_path / "tasks.jsonl"
    data.write_text("".join(json.dumps(row(number)) + "\n" for number in range(TASKS)))
    planned = TASKS * SAMPLES

    old = asked(grown, data, "mcqa")["run_id"]
    scores = grown.json("results", old, "--rollouts")["rollouts"]
    wishes = ("--detach", "--concurrency", "6", "--demand", str(planned // 3))
    live = asked(grown, data, "mcqa_patient", *wishes)["run_id"]
    async with grown.stream(live) as watched, grown.stream(live) as stored:
        checkpoint = [(await anext(stored)).task_id]
        position = stored.position()

        await watched.want(2 * TASKS // 3)  # so that rollouts are under way

        # The tool dies in the middle: who looks is told, who starts is refused, who plays goes on.
        (grown.stack.faults / "odradek.grow.topic").write_text("kill 5")
        grown.odradek("topics", "grow", "--partitions", str(AFTER), code=-signal.SIGKILL)
        assert f"grow --partitions {AFTER}` (again)" in grown.odradek("topics", "diff", code=6).stderr
        grown.json("topics", "grow", "--partitions", str(AFTER))
        assert grown.json("topics", "grow", "--partitions", str(AFTER))["counts"] == [BEFORE, AFTER]
        refused, _port = grown.worker("agent-worker", BEFORE)
        refused.start()
        assert await refused.ended() == 1
        assert f"Set ODRADEK_PARTITIONS={AFTER}" in (grown.folder / f"agent-worker-{BEFORE}.log").read_text()
        assert {run["run_id"]: run["status"] for run in grown.json("runs")}[live] == "running"

        for kind in ("model-gateway", "verifier-worker", "env-worker", "agent-worker", "task-producer"):
            await grown.replace(kind)
        await watched.want(TASKS)
        grown.odradek("watch", live)
        seen = [group async for group in watched]
    new = asked(grown, data, "mcqa")["run_id"]

    assert grown.audited(old, live, new) == [("clean", planned)] * 3
    for run in (live, new):
        homes, rewards = await grown.places(run)
        assert len(homes) == 1
        assert homes <= set(range(BEFORE))
        assert set(rewards) & set(range(BEFORE, AFTER)), "nothing was played on the added partitions"
    assert grown.json("results", old, "--rollouts")["rollouts"] == scores
    assert grown.json("results", live)["duplicates"] == 0
    for run in (old, live):
        assert grown.json("rescore", "--run", run)["counts"]["unchanged"] == planned
        for rollout in scores:
            grown_id = run + rollout["rollout_id"].removeprefix(old)
            if rollout["rollout_id"].endswith("/0/0"):
                assert "boxed" in grown.odradek("show", grown_id).stdout
        assert grown.json("export", run, "--output", str(tmp_path / f"{run}.jsonl"))["rollouts"] == planned
    grown.odradek("compare", old, new)

    # A trainer that looked on, and one that goes on from a checkpoint of before, see each group once.
    everything = sorted(f"{live}/{task}" for task in range(TASKS))
    assert sorted(group.task_id for group in seen) == everything
    assert all(len(group.rewards) == SAMPLES for group in seen)
    async with grown.stream(live, position) as stored:
        checkpoint += [group.task_id async for group in stored]
    assert sorted(checkpoint) == everything


def test_the_local_stack_goes_on_with_its_new_number(grown: Grown) -> None:
    """After the test above, whose topics it finds."""
    for process in grown.added:
        process.stop()
    down(grown.stack.settings)
    state = up(grown.stack.settings.model_copy(update={"partitions": AFTER}))
    assert state.partitions == AFTER
    assert LocalSettings(data_dir=grown.stack.settings.folder).partitions == AFTER
    runs = grown.json("runs")
    assert len(runs) == 3
    assert {run["status"] for run in runs} == {"finished"}
