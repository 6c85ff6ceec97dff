"""The fold in its cycles: journal and requests together, bounds, cancellation, poisonous records."""

import pytest

from odradek_schemas.codec import BlobMissing, InvalidValue
from odradek_schemas.events import (
    JournalAppended,
    PolicyUpdated,
    RolloutSnapshot,
    RunCancelled,
    SessionFailed,
    ToolCallRequested,
)
from odradek_schemas.failures import FailureKind
from odradek_schemas.rollouts import RolloutStatus

CANCELLED = RunCancelled(id="run", run_id="run", reason="asked to")


def test_a_rollout_through_the_fold(make_worker, tools):
    worker = make_worker()
    outputs = worker.cycle(tools.task())
    assert [output.topic for output in outputs] == ["journal", "model-calls"]
    entry, call = (output.event for output in outputs)
    assert entry.sequence == 0
    assert entry.source.topic == "input"
    assert [made.id for made in entry.requests] == [call.id]

    outputs = worker.cycle(tools.answer(call))
    assert [output.topic for output in outputs] == ["journal", "trajectories"]
    assert outputs[0].event.ended is RolloutStatus.COMPLETED
    assert entry.ended is None
    assert worker.fold.restore_point() is None
    assert worker.fold.next_timer() is None


def test_sessions_and_tools_go_to_tool_actions(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task(harness="tool_calling"))
    worker.finish()
    topics = [type(request).__name__ for request in worker.requests]
    assert topics == [
        "SessionRequested",
        "ModelCallRequested",
        "ToolCallRequested",
        "ToolCallRequested",
        "ModelCallRequested",
        "SessionCloseRequested",
    ]
    (trajectory,) = worker.trajectories
    assert trajectory.evidence == {"ok": True}


def test_what_nobody_waits_for_is_counted_and_not_journalled(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task(), tools.task())
    (call,) = worker.requests
    worker.cycle(tools.answer(call))
    journalled = len(worker.journal)
    assert worker.cycle(tools.answer(call)) == []
    assert worker.fold.ignored == 2
    assert len(worker.journal) == journalled


def test_an_event_that_concerns_no_rollout_changes_nothing(make_worker):
    worker = make_worker()
    assert worker.cycle(PolicyUpdated(id="p", model="small", version="2")) == []
    assert worker.fold.ignored == 0


def test_tasks_are_paused_at_the_bound_and_nothing_else(make_worker, tools):
    worker = make_worker(most=2)
    worker.cycle(tools.task(0))
    assert worker.fold.wants("tasks")
    worker.cycle(tools.task(1))
    assert not worker.fold.wants("tasks")
    assert worker.fold.wants("model-results")
    assert worker.fold.wants("observations")
    worker.cycle(tools.answer(worker.requests[0]))
    assert worker.fold.wants("tasks")


def test_a_cancelled_run_ends_its_rollouts_and_those_to_come(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task(0), tools.task(0, run="other"))
    worker.cycle(CANCELLED)
    worker.cycle(CANCELLED)
    worker.cycle(tools.task(1))
    ended = {t.rollout_id: t.status for t in worker.trajectories}
    assert ended == {"run/0/0": RolloutStatus.CANCELLED, "run/1/0": RolloutStatus.CANCELLED}
    assert worker.fold.restore_point() is not None, "the other run goes on"
    worker.cycle(tools.answer(worker.requests[1]))
    assert worker.trajectories[-1].status is RolloutStatus.COMPLETED


def test_an_unknown_harness_fails_the_rollout(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task(harness="nowhere", session=False))
    (trajectory,) = worker.trajectories
    assert trajectory.failure.kind is FailureKind.UNKNOWN_HARNESS


def test_timers_fire_into_the_journal(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task(limits={"model_seconds": 10, "max_attempts": 1}))
    assert (worker.fold.next_timer() - worker.now).total_seconds() == 12
    assert worker.cycle(seconds=11.9) == []
    outputs = worker.cycle(seconds=0.1)
    assert outputs[0].event.input.timer == "run/0/0/1/1"
    assert worker.trajectories[0].failure.kind is FailureKind.MODEL_DEADLINE


def test_of_two_timers_that_are_due_the_first_may_end_the_other(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task(limits={"model_seconds": 10, "rollout_seconds": 10}))
    worker.cycle(seconds=100)
    (trajectory,) = worker.trajectories
    assert trajectory.failure.kind is FailureKind.ROLLOUT_DEADLINE
    assert worker.fold.next_timer() is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [(InvalidValue, FailureKind.UNREADABLE_RECORD), (BlobMissing, FailureKind.BLOB_UNREADABLE)],
)
def test_an_unreadable_task_ends_as_a_failed_rollout(make_worker, tools, error, kind):
    worker = make_worker()
    outputs = worker.cycle(rejected=(("tasks", tools.task(4)),), error=error)
    assert [output.topic for output in outputs] == ["trajectories", "journal"]
    (trajectory,) = worker.trajectories
    assert (trajectory.run_id, trajectory.rollout_id, trajectory.group.task_id) == (
        "run",
        "run/4/0",
        "run/4",
    )
    assert trajectory.failure.kind is kind
    assert "tasks[3]@17" in trajectory.failure.message
    assert trajectory.environment == "unknown"


def test_an_unreadable_repetition_of_a_task_changes_nothing(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task())
    assert worker.cycle(rejected=(("tasks", tools.task()),)) == []


def test_an_unreadable_reply_fails_its_call_and_the_attempt_is_made_again(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task())
    outputs = worker.cycle(rejected=(("model-results", tools.answer(worker.requests[0])),))
    assert outputs[0].event.input.call_id == "run/0/0/1/1"
    assert outputs[0].event.source.offset == 17
    assert worker.requests[-1].id == "run/0/0/2/1"
    worker.finish()
    assert worker.trajectories[0].failed_attempts[0].kind is FailureKind.UNREADABLE_RECORD


@pytest.mark.parametrize("asked", range(4))
def test_an_unreadable_observation_fails_whatever_it_is_about(make_worker, tools, asked):
    worker = make_worker()
    worker.cycle(tools.task(harness="tool_calling", limits={"max_attempts": 1}))
    for index in range(asked + 1):
        if not isinstance(worker.requests[index], ToolCallRequested) and index < asked:
            worker.cycle(tools.answer(worker.requests[index]))
    topic = "model-results" if asked == 1 else "observations"
    worker.cycle(rejected=((topic, tools.answer(worker.requests[asked])),))
    (trajectory,) = worker.trajectories
    assert trajectory.failure.kind is FailureKind.UNREADABLE_RECORD


def test_an_unreadable_word_about_a_closing_session_fails_it(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task(harness="tool_calling", limits={"max_attempts": 1, "max_turns": 1}))
    for index in range(4):
        worker.cycle(tools.answer(worker.requests[index]))
    outputs = worker.cycle(rejected=(("observations", tools.answer(worker.requests[4])),))
    assert isinstance(outputs[0].event.input, SessionFailed)
    assert worker.trajectories[0].status is RolloutStatus.FAILED


def test_unreadable_records_that_name_nobody_known_change_nothing(make_worker, tools):
    worker = make_worker()
    assert worker.cycle(rejected=(("tasks", CANCELLED),)) == []
    worker.cycle(tools.task())
    call = worker.requests[0]
    worker.cycle(tools.answer(call))
    assert worker.cycle(rejected=(("model-results", tools.answer(call)),)) == []


def test_a_rollout_that_holds_the_journal_back_is_carried_forward(make_worker, tools):
    worker = make_worker(snapshot_after=20)
    worker.cycle(tools.task(0, harness="tool_calling"))
    worker.cycle(tools.answer(worker.requests[0]))
    for index in range(1, 20):
        worker.cycle(tools.task(index))
        worker.cycle(tools.answer(worker.requests[-1]))
    assert worker.end - worker.restore_point <= 30
    snapshots = [event for _, event in worker.journal if isinstance(event, RolloutSnapshot)]
    assert [entry.sequence for entry in snapshots[0].entries] == [0, 1]
    worker.crash()
    worker.cycle(tools.answer(worker.requests[1]))
    assert [type(r).__name__ for r in worker.requests[-2:]] == ["ToolCallRequested"] * 2


def test_closing_lets_the_harnesses_go(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task())
    worker.fold.close()
    assert worker.fold.restore_point() is None
    assert worker.cycle(tools.answer(worker.requests[0])) == []


def test_entries_are_numbered_without_gaps(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task(harness="tool_calling"))
    worker.finish()
    entries = [event for _, event in worker.journal if isinstance(event, JournalAppended)]
    assert [entry.sequence for entry in entries] == list(range(len(entries)))
