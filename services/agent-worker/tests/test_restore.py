"""What a new owner of a partition makes of the journal."""

import time
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.harness import Harness
from odradek_agent_worker.restore import Restoration
from odradek_schemas.events import HarnessStuck, JournalAppended, RolloutEnded, RolloutSnapshot, RunCancelled
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import Message
from odradek_schemas.rollouts import RolloutStatus

STUCK = HarnessStuck(id="s", run_id="run", rollout_id="run/0/0", seconds=10.0)


def ids(events):
    return [event.id for event in events]


def test_a_new_owner_goes_on_from_the_step_that_was_reached(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task(harness="tool_calling"))
    worker.cycle(tools.answer(worker.requests[0]))
    worker.crash()
    assert worker.cycle() == [], "nothing is asked again"
    worker.cycle(tools.answer(worker.requests[1]))
    assert ids(worker.requests)[-2:] == ["run/0/0/1/2", "run/0/0/1/3"]


def test_what_was_not_committed_did_not_happen(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task())
    reply = tools.answer(worker.requests[0])
    worker.cycle(reply, commit=False)
    worker.crash()
    worker.cycle(reply)
    assert len(worker.trajectories) == 1


def test_a_finished_rollout_is_not_restored(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task(0), tools.task(1))
    worker.cycle(tools.answer(worker.requests[1]))
    worker.crash()
    assert worker.fold.restore_point() == 0
    worker.cycle(tools.answer(worker.requests[0]))
    assert [t.rollout_id for t in worker.trajectories] == ["run/1/0", "run/0/0"]


def test_timers_are_set_again_but_wait_for_answers_that_are_in_the_log(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task(0, limits={"model_seconds": 10}), tools.task(1, limits={"model_seconds": 100}))
    worker.crash(seconds=60)
    restored_at = worker.now
    assert worker.fold.next_timer() == restored_at + timedelta(seconds=5)
    worker.cycle(tools.answer(worker.requests[0]))
    assert worker.trajectories[0].status is RolloutStatus.COMPLETED
    assert (worker.fold.next_timer() - worker.entries("run/1/0")[0].time).total_seconds() == 102


def test_a_deadline_that_passed_while_nobody_owned_the_partition_still_counts(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task(0, limits={"model_seconds": 10, "max_attempts": 1}))
    worker.crash(seconds=60)
    worker.cycle(seconds=4)
    assert worker.trajectories == []
    worker.cycle(seconds=1)
    assert worker.trajectories[0].failure.kind is FailureKind.MODEL_DEADLINE


def test_a_run_that_was_cancelled_meanwhile(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task())
    worker.crash()
    worker.cycle(RunCancelled(id="run", run_id="run", reason="asked to"))
    assert worker.trajectories[0].status is RolloutStatus.CANCELLED


def test_a_harness_that_does_otherwise_ends_its_rollout_alone(make_worker, tools):
    class Fickle(Harness):
        name = "fickle"

        async def run(self, rollout):
            rollout.add(Message(role="user", content=str(time.monotonic_ns())))
            await rollout.model()

    worker = make_worker(harnesses={"fickle": Fickle()})
    worker.cycle(tools.task(0, harness="fickle"), tools.task(1))
    worker.crash()
    worker.cycle()
    (trajectory,) = worker.trajectories
    assert trajectory.failure.kind is FailureKind.HARNESS_NONDETERMINISTIC
    assert worker.entries("run/0/0")[-1].input.type == "RolloutFaulted"
    worker.crash()
    worker.cycle(tools.answer(worker.requests[1]))
    assert len(worker.trajectories) == 2


def test_a_harness_that_the_new_owner_lacks_is_named(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task(0, harness="tool_calling"), tools.task(1))
    del worker.harnesses["tool_calling"]
    worker.crash()
    worker.cycle(tools.answer(worker.requests[1]))
    found = {t.rollout_id: t.failure and t.failure.kind for t in worker.trajectories}
    assert found == {"run/0/0": FailureKind.UNKNOWN_HARNESS, "run/1/0": None}


class Untouchable(Harness):
    """Stuck if it is ever run."""

    name = "untouchable"

    async def run(self, rollout):
        raise AssertionError("a stuck harness was run again")


def test_a_stuck_harness_is_not_run_again(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task(0, harness="tool_calling"))
    worker.cycle(tools.answer(worker.requests[0]))
    worker.note(STUCK)
    worker.harnesses["tool_calling"] = Untouchable()
    worker.crash()
    worker.cycle()
    (trajectory,) = worker.trajectories
    assert trajectory.failure.kind is FailureKind.HARNESS_STUCK
    assert worker.requests[-1].id == "run/0/0/1/close"
    assert worker.requests[-1].discard
    worker.crash()
    worker.cycle()
    assert len(worker.trajectories) == 1


def test_a_harness_that_was_stuck_at_its_first_step_ends_when_its_task_is_read_again(make_worker, tools):
    worker = make_worker(harnesses={"untouchable": Untouchable()})
    worker.note(STUCK)
    worker.restore_point = 0
    worker.crash()
    assert worker.cycle() == []
    worker.cycle(tools.task(0, harness="untouchable"), tools.task(1))
    (trajectory,) = worker.trajectories
    assert trajectory.failure.kind is FailureKind.HARNESS_STUCK
    assert trajectory.messages[0].text == "task 0"
    assert ids(worker.requests) == ["run/1/0/1/1"]


def test_a_journal_without_a_rollouts_beginning_ends_it_all_the_same(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task(harness="tool_calling"))
    worker.cycle(tools.answer(worker.requests[0]))
    worker.journal = [
        (offset, event)
        for offset, event in worker.journal
        if not (isinstance(event, JournalAppended) and event.sequence == 0)
    ]
    worker.crash()
    worker.cycle()
    (trajectory,) = worker.trajectories
    assert trajectory.failure.kind is FailureKind.UNREADABLE_RECORD
    worker.crash()
    worker.cycle()
    assert len(worker.trajectories) == 1


def test_a_gap_in_a_rollouts_journal_ends_it(make_worker, tools):
    worker = make_worker()
    worker.cycle(tools.task(harness="tool_calling"))
    worker.cycle(tools.answer(worker.requests[0]))
    worker.cycle(tools.answer(worker.requests[1]))
    del worker.journal[1]
    worker.crash()
    worker.cycle()
    assert "entry 1 is missing" in worker.trajectories[0].failure.message


def entry(rollout_id, sequence, tools):
    task = tools.task(int(rollout_id.split("/")[1]))
    return JournalAppended(
        id=f"{rollout_id}/journal/{sequence}",
        run_id="run",
        rollout_id=rollout_id,
        sequence=sequence,
        input=task,
    )


def test_the_restore_point_after_a_restore_is_that_of_the_oldest_left(tools):
    restoration = Restoration()
    restoration.take(entry("run/0/0", 1, tools), 7)
    restoration.take(entry("run/1/0", 0, tools), 8)
    whole = [entry("run/0/0", 0, tools), entry("run/0/0", 1, tools)]
    restoration.take(RolloutSnapshot(id="s", run_id="run", rollout_id="run/0/0", entries=whole), 30)
    found = [(rollout_id, kept.first) for rollout_id, kept in restoration.unfinished.items()]
    assert found == [("run/1/0", 8), ("run/0/0", 30)]
    assert restoration.unfinished["run/0/0"].entries == whole


def test_a_note_about_a_rollout_that_has_ended_is_forgotten(tools):
    restoration = Restoration()
    restoration.take(entry("run/0/0", 0, tools), 1)
    restoration.take(STUCK, 2)
    restoration.take(RolloutEnded(id="e", run_id="run", rollout_id="run/0/0", status=RolloutStatus.FAILED), 3)
    assert (restoration.unfinished, restoration.stuck) == ({}, {})


MOVES = st.lists(
    st.tuples(st.sampled_from(["answer", "answer", "answer", "fail", "again"]), st.integers(0, 99)),
    max_size=40,
)


@given(moves=MOVES, data=st.data())
@settings(max_examples=80, deadline=None)
def test_a_crash_at_any_point_changes_nothing_that_anybody_can_see(make_worker, tools, moves, data):
    steady = play(make_worker(snapshot_after=15), tools, moves, [])
    crashes = data.draw(st.lists(st.tuples(st.integers(0, len(moves)), st.booleans()), max_size=6))
    shaken = play(make_worker(snapshot_after=15), tools, moves, crashes)
    assert shaken.outputs == steady.outputs
    asked = ids(shaken.requests)
    assert len(asked) == len(set(asked))
    assert sorted(t.rollout_id for t in shaken.trajectories) == ["run/0/0", "run/1/0", "run/2/0"]


def play(worker, tools, moves, crashes):
    """Three rollouts; each move picks one of the open requests. `crashes`: before which move, and with a cycle lost."""
    worker.cycle(
        *(tools.task(n, harness=h) for n, h in enumerate(["tool_calling", "single_turn", "tool_calling"]))
    )
    answered = []
    for index, (move, pick) in enumerate(moves):
        event = next_event(worker, tools, move, pick, answered)
        for _ in range(sum(before == index for before, _ in crashes)):
            if (index, True) in crashes and event is not None:
                worker.cycle(event, commit=False, seconds=0)
            worker.crash()
        if event is not None:
            worker.cycle(event, seconds=1)
    worker.finish()
    return worker


def next_event(worker, tools, move, pick, answered):
    open_ = [request for request in worker.requests if request.id not in answered]
    if move == "again":
        done = [request for request in worker.requests if request.id in answered]
        return tools.answer(done[pick % len(done)]) if done else None
    if not open_:
        return None
    request = open_[pick % len(open_)]
    answered.append(request.id)
    if move == "fail" and request.type == "ModelCallRequested":
        return tools.model_failure(request, FailureKind.UPSTREAM_UNAVAILABLE)
    return tools.answer(request)


@pytest.mark.parametrize("crashes", [0, 1])
def test_a_snapshot_and_what_follows_it_are_one_journal(make_worker, tools, crashes):
    worker = make_worker(snapshot_after=1)
    worker.cycle(tools.task(harness="tool_calling"))
    answered = 0
    while answered < len(worker.requests):
        for _ in range(crashes):
            worker.crash()
        worker.cycle(tools.answer(worker.requests[answered]))
        answered += 1
    assert [step.call_id for step in worker.trajectories[0].steps] == [
        "run/0/0/1/1",
        "run/0/0/1/2",
        "run/0/0/1/3",
        "run/0/0/1/4",
    ]
