"""What a run came to, in figures."""

from typing import Any

import pytest

from odradek.metrics import Missing
from odradek_cli.progress import Pace, duration
from odradek_cli.render import progress_line
from odradek_cli.runs import Run, fold_runs
from odradek_cli.summary import Ways, as_json, summarize_run
from odradek_schemas.events import RunCancelRequested, RunStatus


def test_figures_are_over_the_planned_rollouts(makes: Any) -> None:
    run = Run(makes.run(samples=2), finished=makes.finish(planned=6))
    rewards = [
        makes.reward(0, 0, 1.0),
        makes.reward(0, 1, 0.0),
        makes.reward(1, 0, 1.0),
        makes.reward(1, 1, 1.0),
        makes.reward(2, 0, None),
    ]
    found = as_json(summarize_run(run, rewards))
    assert found["planned"] == 6
    assert found["finished"] == 5
    assert found["masked"] == 1
    assert found["coverage"] == pytest.approx(4 / 6)
    assert found["mean_reward"]["value"] == pytest.approx(0.75)
    assert found["mean_reward"]["low"] < 0.75 < found["mean_reward"]["high"]
    assert {at["k"]: at["value"] for at in found["pass_at_k"]} == {1: 0.75, 2: 1.0}
    assert (found["pass_at_k"][1]["scored"], found["pass_at_k"][1]["planned"]) == (2, 3)
    assert {at["k"]: at["value"] for at in found["pass_hat_k"]} == {1: 0.75, 2: 0.5}
    assert found["failures"] == {"rate_limited": 1}
    assert found["ends"] == {"completed": 4, "failed": 1}
    assert found["usage"]["total_tokens"] == 5 * 120
    assert (found["components"]["format"]["value"], found["components"]["format"]["scored"]) == (1.0, 4)
    seconds = found["spent"]["seconds"]
    assert (seconds["p50"], seconds["p95"], seconds["most"], seconds["known"]) == (3.0, 4.0, 4.0, 5)
    assert found["tokens_per_second"] == pytest.approx(100 / 4)
    assert [r["rollout_id"] for r in found["rollouts"]] == ["r/0/0", "r/0/1", "r/1/0", "r/1/1", "r/2/0"]


def test_a_rollout_counts_once(makes: Any) -> None:
    run = Run(makes.run(), finished=makes.finish(planned=1))
    summary = summarize_run(run, [makes.reward(0, 0, 1.0), makes.reward(0, 0, 0.0)])
    assert summary.duplicates == 1
    assert summary.metrics.mean.value == 1.0


def test_tasks_are_in_the_order_of_their_numbers(makes: Any) -> None:
    run = Run(makes.run(samples=1), finished=makes.finish(planned=11))
    summary = summarize_run(run, [makes.reward(task, 0, 1.0) for task in (10, 2, 0)])
    assert [r.rollout_id for r in summary.rewards] == ["r/0/0", "r/2/0", "r/10/0"]


def test_nothing_scored_is_no_zero(makes: Any) -> None:
    run = Run(makes.run(), finished=makes.finish(planned=1))
    found = as_json(summarize_run(run, [makes.reward(0, 0, None)]))
    assert found["mean_reward"]["value"] is None
    assert found["coverage"] == 0.0


def test_an_unknown_plan_is_said(makes: Any) -> None:
    found = as_json(summarize_run(Run(makes.run()), []))
    assert found["planned"] is None
    assert found["spent"]["seconds"]["p50"] is None
    assert found["tokens_per_second"] is None


def test_missing_rollouts_count_what_was_asked_for(makes: Any) -> None:
    run = Run(makes.run(samples=2), finished=makes.finish(planned=4))
    found = as_json(
        summarize_run(run, [makes.reward(0, 0, 1.0), makes.reward(0, 1, None)], Ways(missing=Missing.ZERO))
    )
    assert (found["missing"], found["mean_reward"]["value"], found["coverage"]) == ("zero", 0.25, 0.25)


def test_tasks_are_grouped_by_a_field_of_theirs(makes: Any) -> None:
    run = Run(makes.run(samples=1), finished=makes.finish(planned=4))
    tasks = {"r/0": {"level": 1}, "r/1": {"level": 2}, "r/2": {"level": 1}}
    rewards = [makes.reward(task, 0, float(task == 0)) for task in range(3)]
    found = as_json(summarize_run(run, rewards, Ways(by="level"), tasks))
    assert found["grouped_by"] == "level"
    groups = {group["value"]: group for group in found["groups"]}
    assert {value: group["mean_reward"]["value"] for value, group in groups.items()} == {
        "1": 0.5,
        "2": 0.0,
        None: None,
    }
    assert (groups["1"]["planned"], groups[None]["coverage"]) == (2, 0.0)


def test_the_detail_to_vote_on_is_chosen(makes: Any) -> None:
    run = Run(makes.run(samples=2), finished=makes.finish(planned=2))
    rewards = [makes.reward(0, sample, 1.0) for sample in range(2)]
    assert as_json(summarize_run(run, rewards))["majority_at_k"] == []
    found = as_json(summarize_run(run, rewards, Ways(answer="chose")))
    assert [(at["k"], at["value"]) for at in found["majority_at_k"]] == [(1, 1.0), (2, 1.0)]


def test_runs_are_folded_from_their_events(makes: Any) -> None:
    runs = fold_runs(
        [
            makes.run("late", minutes=5),
            makes.run("early"),
            makes.progress(1, run_id="early"),
            makes.progress(2, run_id="early"),
            makes.run("early", minutes=9),
            RunCancelRequested(id="late", run_id="late"),
            makes.finish(run_id="unknown"),
        ]
    )
    assert [(run.id, run.status) for run in runs] == [("early", "running"), ("late", "cancelling")]
    assert runs[0].last is not None
    assert runs[0].last.counts.finished == 2
    assert runs[0].after(makes.finish(run_id="early", status=RunStatus.CANCELLED)).status == "cancelled"


def test_pace_is_over_the_last_half_minute(makes: Any) -> None:
    pace = Pace()
    first = pace.view(makes.progress(10, planned=100, seconds=10, tokens=500))
    assert first.rollouts_per_second == pytest.approx(1.0)
    assert first.tokens_per_second == pytest.approx(50)
    assert first.eta_seconds == pytest.approx(90)
    for seconds in range(11, 61):
        last = pace.view(
            makes.progress(10 + 2 * (seconds - 10) // 10, planned=100, seconds=seconds, tokens=500)
        )
    assert last.rollouts_per_second == pytest.approx(0.2, rel=0.2)
    assert last.tokens_per_second == 0
    assert last.in_flight == 100 - last.finished


def test_no_progress_has_no_eta(makes: Any) -> None:
    assert Pace().view(makes.progress(0, seconds=0)).eta_seconds is None


def test_a_progress_line_says_it_all(makes: Any) -> None:
    view = Pace().view(
        makes.progress(
            2, planned=4, seconds=2, reward_sum=0.5, masked=1, tokens=60, failures={"rate_limited": 1}
        )
    )
    assert progress_line(view) == (
        "2/4 done, 2 in flight, reward 0.500, coverage 50%, failures: rate_limited 1, 30 tokens/s, ETA 2s"
    )


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0s"), (59, "59s"), (192, "3m12s"), (7500, "2h05m")])
def test_durations_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text
