"""TRL learns from rollouts by Odradek's workers; a trainer that is killed goes on with the groups that it has not trained on."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.training.installing import is_installed, letters, player

pytestmark = [pytest.mark.training, pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(3000)]

STEPS, SAVED_EACH, KILLED_AT = 30, 4, 10
GROUPS, AHEAD = 4, 4
SECONDS = 2700.0
ENDS = 3


@dataclass(frozen=True)
class Played:
    """All lines that were logged, those of the trainer that was killed first."""

    lines: Sequence[dict[str, Any]]

    @property
    def again(self) -> int:
        """The first step of the trainer that was started again."""
        steps = [line["step"] for line in self.lines]
        return next(now for before, now in pairwise(steps) if now <= before)

    @property
    def course(self) -> Sequence[dict[str, Any]]:
        """The steps behind the weights at the end: what came after the last checkpoint went with the killed trainer."""
        return list({line["step"]: line for line in self.lines}.values())


@pytest.fixture(scope="module", params=["grpo", "async"])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The example, its trainer killed once."""
    if not is_installed():
        pytest.skip("TRL is not installed: make test-training")
    letters()
    out = tmp_path_factory.mktemp(request.param)
    more = ["--save-steps", str(SAVED_EACH), "--kill-at", str(KILLED_AT), "--ahead", str(AHEAD)]
    command, env = player(out, request.param, STEPS, more)
    done = subprocess.run(command, env=env, timeout=SECONDS, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr + _last_words(out / "trainer.log")
    return Played([json.loads(line) for line in (out / "trainer/steps.jsonl").read_text().splitlines()])


def test_the_reward_goes_up(played: Played) -> None:
    rewards = [line["reward"] for line in played.course]
    assert len(rewards) == STEPS
    assert fmean(rewards[-ENDS:]) > fmean(rewards[:ENDS]) + 0.1, rewards


def test_a_trainer_that_was_killed_goes_on_from_its_checkpoint(played: Played) -> None:
    assert played.again % SAVED_EACH == 1
    assert 1 < played.again <= KILLED_AT + SAVED_EACH


def test_no_group_is_trained_on_twice_and_none_is_missed(played: Played) -> None:
    """What is missing below the last can only be what is played still: so many groups are asked for ahead."""
    tasks = [int(task.rpartition("/")[2]) for line in played.course for task in line["tasks"]]
    assert len(tasks) == len(set(tasks)) == STEPS * GROUPS
    assert max(tasks) < STEPS * GROUPS + 2 * AHEAD + GROUPS


def test_ratios_are_of_the_policy_that_sampled(played: Played) -> None:
    """Rollouts are asked for ahead, so they are of older weights; were their logprobs not used, all ratios would be 1."""
    stale = [line.get("odradek/staleness_mean", line.get("sample/staleness_mean")) for line in played.course]
    assert max(stale) > 0
    assert max(line["clip_ratio/region_mean"] for line in played.course) > 0


def _last_words(log: Path) -> str:
    return log.read_text()[-4000:] if log.exists() else ""
