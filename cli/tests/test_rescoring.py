"""What a re-score changed, and what is asked of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from odradek_cli.assignments import read_assignments
from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import Found
from odradek_cli.moments import read_moment
from odradek_cli.rescore_diff import Change, Score, as_json, change, diff
from odradek_cli.rescores import Standing
from odradek_schemas.events import RecordCoordinates, RescoreCounts, RescoreFinished, RescoreRequested

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def score(
    reward: float | None, task: str = "run/0", failure: str | None = None, version: str = "v1"
) -> Score:
    return Score(task, reward, failure if reward is None else None, f"mcqa@{version}")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (score(1.0), score(1.0), Change.UNCHANGED),
        (score(1.0), score(0.0), Change.CHANGED),
        (score(0.0), score(None, failure="rate_limited"), Change.NEWLY_FAILED),
        (score(None, failure="rate_limited"), score(0.0), Change.NEWLY_SCORED),
        (score(None, failure="rate_limited"), score(None, failure="verifier_error"), Change.UNCHANGED),
        (None, score(1.0), Change.NEW),
    ],
)
def test_how_two_scores_differ(before: Score | None, after: Score, expected: Change) -> None:
    assert change(before, after) is expected


def test_the_difference_is_told_by_task_with_examples() -> None:
    before = {f"run/{task}/{sample}": score(1.0, f"run/{task}") for task in range(3) for sample in range(2)}
    after = {name: score(1.0, old.task_id, version="v2") for name, old in before.items()}
    after["run/1/0"] = score(0.0, "run/1", version="v2")
    after["run/1/1"] = score(None, "run/1", failure="verifier_error", version="v2")
    found = diff(before, after)
    assert found.counts == {Change.UNCHANGED: 4, Change.CHANGED: 1, Change.NEWLY_FAILED: 1}
    assert found.by_task == {"run/1": {Change.CHANGED: 1, Change.NEWLY_FAILED: 1}}
    assert [example.rollout_id for example in found.examples] == ["run/1/0", "run/1/1"]
    assert (found.verifiers_before, found.verifiers_after) == (("mcqa@v1",), ("mcqa@v2",))
    told = as_json(found)
    assert told["counts"]["newly_scored"] == 0
    assert told["differences"][1] == {
        "rollout_id": "run/1/1",
        "change": "newly_failed",
        "before": 1.0,
        "after": None,
        "failure": "verifier_error",
    }


def test_examples_are_few_and_of_each_kind() -> None:
    before = {f"run/0/{n}": score(1.0) for n in range(100)}
    after = {f"run/0/{n}": score(None if n == 99 else 0.0, failure="x") for n in range(100)}
    examples = diff(before, after).examples
    assert len(examples) <= 10
    assert {example.change for example in examples} == {Change.CHANGED, Change.NEWLY_FAILED}


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("90m", NOW - timedelta(minutes=90)),
        ("7d", NOW - timedelta(days=7)),
        ("2026-11-29T10:00:00+00:00", datetime(2026, 11, 29, 10, tzinfo=UTC)),
    ],
)
def test_moments(text: str, moment: datetime) -> None:
    assert read_moment(text, NOW) == moment


@pytest.mark.parametrize("text", ["yesterday", "9999999d", f"{10**30}s", "9999-12-31T23:59:59-12:00", ""])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(CliError, match="is no moment"):
        read_moment(text, NOW)


def test_settings_are_json_or_text() -> None:
    given = ["a=1", "b=true", "c=some text", 'd={"x": [1]}', "a=2", "e="]
    assert read_assignments(given) == {"a": 2, "b": True, "c": "some text", "d": {"x": [1]}, "e": ""}
    for wrong in ("a", "=1"):
        with pytest.raises(CliError, match="is no key=value"):
            read_assignments([wrong])


@pytest.mark.parametrize("scoring", ["primary", "recorded"])
def test_a_re_score_has_no_name_of_a_run_s_own_rewards(odradek: Any, scoring: str) -> None:
    done = odradek("rescore", "--run", "r", "--id", scoring)
    assert done.exit_code == Exit.USAGE
    assert f"--id {scoring}: that is the name" in done.stderr
    with pytest.raises(ValidationError, match="that runs have of themselves"):
        RescoreRequested(id="x", rescore_id=scoring, partition=0, start=0, end=1)


def test_a_trajectory_that_is_in_the_log_twice_is_waited_for_once_more(makes: Any) -> None:
    standing = Standing(frozenset([0]))
    at = RecordCoordinates(topic="rewards", partition=0, offset=0)
    counts = RescoreCounts(scored=2)
    standing.take(Found(RescoreFinished(id="x", rescore_id="x", partition=0, counts=counts), at))
    standing.take(Found(makes.reward(0, 0, 1.0, scoring="x"), at))
    assert not standing.done
    standing.take(Found(makes.reward(0, 0, 0.0, scoring="x"), at))
    assert standing.done
    assert [score.reward for score in standing.after.values()] == [1.0]


def test_a_file_is_not_chosen_from_as_the_log_is(odradek: Any) -> None:
    done = odradek("rescore", "--file", "rollouts.jsonl", "--run", "r", "--dry-run")
    assert done.exit_code == Exit.USAGE
    assert "does not go with --run, --dry-run" in done.stderr


def test_a_request_that_was_put_off_is_no_news() -> None:
    standing = Standing(frozenset({0}))
    request = RescoreRequested(id="x/0/0", rescore_id="x", partition=0, start=0, end=9)
    later = request.model_copy(update={"start": 5})
    place = RecordCoordinates(topic="rescores", partition=0, offset=0)
    assert [standing.take(Found(event, place)) for event in (request, request, later)] == [True, False, True]
    finished = RescoreFinished(id="x/0/finished", rescore_id="x", partition=0)
    assert (standing.done, standing.take(Found(finished, place)), standing.done) == (False, True, True)
