"""The life of one rollout, from what it is told to what it asks and how it ends."""

from datetime import timedelta

import pytest

from odradek.engine import ANSWER_GRACE_SECONDS
from odradek.harnesses.single_turn import SingleTurn
from odradek.harnesses.tool_calling import ToolCalling
from odradek_schemas.events import (
    ModelCallRequested,
    RolloutFaulted,
    RunCancelled,
    SessionCloseRequested,
    SessionRequested,
    ToolCallRequested,
    TrajectoryFinished,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.messages import FunctionSpec, Message, ToolSpec
from odradek_schemas.rollouts import ModelStep, RolloutStatus, ToolStep


def cancelled():
    return RunCancelled(id="run", run_id="run", reason="asked to")


def kinds(table):
    return [type(made) for made in table.requests]


def test_a_single_turn_without_a_session(table):
    play = table(SingleTurn(), session=False)
    play.start()
    (call,) = play.requests
    assert call.id == "run/7/0/1/1"
    assert call.messages == play.request.messages
    assert call.deadline == play.now + timedelta(seconds=300)

    play.reply("four", finish_reason="length", tokens=12)

    trajectory = play.trajectory
    assert trajectory.status is RolloutStatus.COMPLETED
    assert trajectory.truncated_by is None
    assert [message.text for message in trajectory.messages] == ["Count.", "Go.", "four"]
    assert trajectory.prompt_messages == 2
    (step,) = trajectory.steps
    assert isinstance(step, ModelStep)
    assert (step.call_id, step.turn, step.message, step.finish_reason) == (call.id, 1, 2, "length")
    assert trajectory.usage.total_tokens == 12
    assert trajectory.cost is None, "nobody knows a price"
    assert (trajectory.finished_at - trajectory.started_at).total_seconds() == 1
    assert trajectory.sealed_answer == "sealed"


def test_a_whole_session(table, calls):
    play = table(ToolCalling())
    play.start()
    opening = play.last(SessionRequested)
    assert (opening.id, opening.session_id, opening.seed) == ("run/7/0/1/open", "run/7/0/1", 5)

    play.ready(observation=[Message(role="user", content="You see 3.")])
    call = play.last(ModelCallRequested)
    assert [message.text for message in call.messages] == ["Count.", "Go.", "You see 3."]
    assert [tool.function.name for tool in call.tools] == ["add"]

    play.reply(None, calls=calls("add"))
    action = play.last(ToolCallRequested)
    assert (action.id, action.turn, action.session_id) == ("run/7/0/1/2", 1, "run/7/0/1")

    play.observe(action, "4", is_error=True)
    assert [message.role for message in play.last(ModelCallRequested).messages][-2:] == ["assistant", "tool"]

    play.reply("It is 4.")
    closing = play.last(SessionCloseRequested)
    assert (closing.id, closing.discard) == ("run/7/0/1/close", False)
    assert not play.finished

    play.closed(evidence={"value": 4}, final_state={"value": 4}, sealed_evidence="box")
    trajectory = play.trajectory
    assert trajectory.status is RolloutStatus.COMPLETED
    assert (trajectory.evidence, trajectory.final_state, trajectory.sealed_evidence) == (
        {"value": 4},
        {"value": 4},
        "box",
    )
    assert trajectory.prompt_messages == 3
    assert [tool.function.name for tool in trajectory.tools] == ["add"]
    step = trajectory.steps[1]
    assert isinstance(step, ToolStep)
    assert (step.name, step.is_error, trajectory.messages[step.message].content) == ("add", True, "4")
    assert trajectory.turns == 2


def test_the_tools_that_a_row_brought_are_kept(table):
    own = [ToolSpec(function=FunctionSpec(name="own"))]
    play = table(ToolCalling(), tools=own)
    play.start()
    assert play.last(SessionRequested).tools == own
    play.ready()
    assert play.last(ModelCallRequested).tools == own


def test_parallel_observations_are_put_in_the_order_of_the_calls_and_steps_in_that_of_acceptance(
    table, calls
):
    play = table(ToolCalling())
    play.start()
    play.ready()
    play.reply(None, calls=calls("a", "b", "c"))
    a, b, c = play.actions()
    for action in (c, a, b):
        play.observe(action, f"of {action.call.function.name}")
    assert [m.text for m in play.last(ModelCallRequested).messages][-3:] == ["of a", "of b", "of c"]
    assert [m.tool_call_id for m in play.last(ModelCallRequested).messages][-3:] == ["c0", "c1", "c2"]
    play.reply("done")
    play.closed()
    tools = [step for step in play.trajectory.steps if isinstance(step, ToolStep)]
    assert [step.name for step in tools] == ["c", "a", "b"]
    assert [play.trajectory.messages[step.message].text for step in tools] == ["of c", "of a", "of b"]


def test_a_request_keeps_the_conversation_as_it_was(table, calls):
    play = table(ToolCalling())
    play.start()
    play.ready()
    first = play.last(ModelCallRequested)
    play.reply(None, calls=calls("a"))
    play.observe(play.actions()[0])
    assert len(first.messages) == 2


def test_an_interrupted_call_is_told_and_the_rollout_goes_on(table, calls):
    play = table(ToolCalling())
    play.start()
    play.ready()
    play.reply(calls=calls("send", "add"))
    send, add = play.actions()
    play.observe(send, "This call was interrupted.", is_error=True, interrupted=True)
    play.observe(add, "5")
    asked = play.last(ModelCallRequested)
    assert [message.text for message in asked.messages[-2:]] == ["This call was interrupted.", "5"]
    play.reply("sent, perhaps")
    play.closed()
    assert play.trajectory.status is RolloutStatus.COMPLETED
    steps = [step for step in play.trajectory.steps if isinstance(step, ToolStep)]
    assert [(step.is_error, step.interrupted) for step in steps] == [(True, True), (False, False)]


def test_a_tool_ends_the_episode(table, calls):
    play = table(ToolCalling(), limits={"max_turns": 1})
    play.start()
    play.ready()
    play.reply(None, calls=calls("finish", "other"))
    finish, other = play.actions()
    play.observe(finish, done=True)
    play.observe(other)
    play.closed()
    assert play.trajectory.status is RolloutStatus.COMPLETED


def test_the_last_turn_may_be_an_answer(table):
    play = table(ToolCalling(), limits={"max_turns": 1})
    play.start()
    play.ready()
    play.reply("that is all")
    play.closed()
    assert play.trajectory.status is RolloutStatus.COMPLETED


@pytest.mark.parametrize(
    ("limits", "bound"), [({"max_turns": 1}, "max_turns"), ({"max_total_tokens": 10}, "max_total_tokens")]
)
def test_a_bound_truncates_and_the_evidence_is_gathered(table, calls, limits, bound):
    play = table(ToolCalling(), limits=limits)
    play.start()
    play.ready()
    play.reply(None, calls=calls("a"), tokens=10)
    play.observe(play.actions()[0])
    assert play.last(SessionCloseRequested).discard is False
    play.closed(evidence={"seen": 1})
    trajectory = play.trajectory
    assert (trajectory.status, trajectory.truncated_by) == (RolloutStatus.TRUNCATED, bound)
    assert trajectory.evidence == {"seen": 1}
    assert kinds(play).count(ModelCallRequested) == 1


def test_context_overflow_truncates_once_something_was_answered(table, calls):
    play = table(ToolCalling())
    play.start()
    play.ready()
    play.reply(None, calls=calls("a"))
    play.observe(play.actions()[0])
    play.fail_model(FailureKind.CONTEXT_OVERFLOW)
    play.closed()
    assert (play.trajectory.status, play.trajectory.truncated_by) == (
        RolloutStatus.TRUNCATED,
        "context_overflow",
    )


def test_context_overflow_of_the_prompt_fails(table):
    play = table(SingleTurn(), session=False)
    play.start()
    play.fail_model(FailureKind.CONTEXT_OVERFLOW)
    assert play.trajectory.status is RolloutStatus.FAILED
    assert play.trajectory.failure is not None
    assert play.trajectory.failure.kind is FailureKind.CONTEXT_OVERFLOW


def test_an_infrastructure_failure_begins_a_new_attempt_in_a_fresh_world(table, calls):
    play = table(ToolCalling())
    play.start()
    play.ready()
    play.reply(None, calls=calls("a", "b"), tokens=10, cost=0.5)
    a, b = play.actions()
    play.fail_tool(a, FailureKind.SESSION_LOST)
    assert kinds(play)[-2:] == [SessionCloseRequested, SessionRequested]
    assert play.last(SessionCloseRequested).discard is True
    assert play.last(SessionRequested).id == "run/7/0/2/open"
    assert play.observe(b) is None, "a result of the old attempt is not accepted"

    play.ready()
    play.reply("again", tokens=5, cost=0.25)
    play.closed()
    trajectory = play.trajectory
    assert trajectory.attempt == 2
    assert [failure.kind for failure in trajectory.failed_attempts] == [FailureKind.SESSION_LOST]
    assert trajectory.failure is None
    assert [message.text for message in trajectory.messages] == ["Count.", "Go.", "again"]
    assert len(trajectory.steps) == 1
    assert trajectory.usage.total_tokens == 15, "what the failed attempt cost counts too"
    assert trajectory.cost == 0.75


def test_attempts_are_bounded(table):
    play = table(SingleTurn(), session=False, limits={"max_attempts": 3})
    play.start()
    for _ in range(3):
        assert not play.finished
        play.fail_model(FailureKind.UPSTREAM_UNAVAILABLE)
    assert play.trajectory.status is RolloutStatus.FAILED
    assert play.trajectory.attempt == 3
    assert len(play.trajectory.failed_attempts) == 2


def test_a_failure_that_would_come_again_is_not_retried(table):
    play = table(ToolCalling())
    play.start()
    play.ready()
    play.fail_model(FailureKind.INVALID_REQUEST)
    assert play.trajectory.failure is not None
    assert play.trajectory.failure.kind is FailureKind.INVALID_REQUEST
    assert play.trajectory.attempt == 1
    assert play.last(SessionCloseRequested).discard is True


def test_a_session_that_did_not_open_need_not_be_closed(table):
    play = table(ToolCalling())
    play.start()
    play.fail_session(FailureKind.UNKNOWN_ENVIRONMENT)
    assert kinds(play) == [SessionRequested]
    assert play.trajectory.status is RolloutStatus.FAILED


def test_a_session_that_did_not_close_costs_the_attempt(table):
    play = table(ToolCalling())
    play.start()
    play.ready()
    play.reply()
    play.fail_session(FailureKind.ENVIRONMENT_ERROR)
    assert kinds(play)[-2:] == [SessionCloseRequested, SessionRequested], "it is not closed a second time"
    assert play.last(SessionRequested).id == "run/7/0/2/open"


def test_every_wait_has_a_timer(table, calls):
    play = table(
        ToolCalling(), limits={"session_seconds": 1, "model_seconds": 2, "tool_seconds": 3, "max_attempts": 1}
    )

    def timers():
        return {name: (due - play.now).total_seconds() for due, name in play.machine.timers()}

    play.start()
    assert timers()["run/7/0/1"] == 1 + ANSWER_GRACE_SECONDS
    play.ready()
    assert timers()["run/7/0/1/1"] == 2 + ANSWER_GRACE_SECONDS
    play.reply(None, calls=calls("a", "b"))
    assert timers()["run/7/0/1/2"] == timers()["run/7/0/1/3"] == 3 + ANSWER_GRACE_SECONDS
    for action in play.actions():
        play.observe(action)
    play.reply()
    assert timers()["run/7/0/1"] == 1 + ANSWER_GRACE_SECONDS
    assert timers()["rollout"] == 3600 - (play.now - play.entries[0].time).total_seconds()
    play.closed()
    assert timers() == {}


@pytest.mark.parametrize(
    ("stage", "kind"),
    [
        (0, FailureKind.SESSION_DEADLINE),
        (1, FailureKind.MODEL_DEADLINE),
        (2, FailureKind.TOOL_DEADLINE),
        (3, FailureKind.SESSION_DEADLINE),
    ],
)
def test_what_is_not_answered_in_time_fails_the_attempt(table, calls, stage, kind):
    play = table(ToolCalling(), limits={"max_attempts": 1})
    moves = [
        play.ready,
        lambda: play.reply(None, calls=calls("end")),
        lambda: play.observe(play.actions()[0], done=True),
    ]
    play.start()
    for move in moves[:stage]:
        move()
    (timer,) = [name for _, name in play.machine.timers() if name != "rollout"]
    play.fire(timer)
    assert play.trajectory.failure is not None
    assert play.trajectory.failure.kind is kind
    assert timer in play.trajectory.failure.message


def test_a_timer_that_is_not_set_changes_nothing(table):
    play = table(SingleTurn(), session=False)
    play.start()
    assert play.fire("run/7/0/1/9") is None
    assert play.machine.due("run/7/0/1/9") is None


def test_the_rollouts_own_deadline_ends_it_and_bounds_its_calls(table):
    play = table(SingleTurn(), session=False, limits={"rollout_seconds": 20})
    play.start()
    assert play.last(ModelCallRequested).deadline == play.now + timedelta(seconds=20)
    play.fire("rollout")
    assert play.trajectory.failure is not None
    assert play.trajectory.failure.kind is FailureKind.ROLLOUT_DEADLINE
    assert play.trajectory.failure.stage is Stage.MODEL
    assert play.trajectory.failed_attempts == []


def test_a_cancelled_run_ends_its_rollout_and_discards_the_session(table, calls):
    play = table(ToolCalling())
    play.start()
    play.ready()
    play.reply(None, calls=calls("a", "b"))
    play.observe(play.actions()[1], "of b")
    play.accept(cancelled())
    trajectory = play.trajectory
    assert trajectory.status is RolloutStatus.CANCELLED
    assert trajectory.failure is not None
    assert trajectory.failure.message == "asked to"
    assert play.last(SessionCloseRequested).discard is True
    assert trajectory.messages[-1].text == "of b", "what was observed is not lost"
    assert trajectory.messages[trajectory.steps[-1].message].text == "of b"


@pytest.mark.parametrize(
    ("event", "status"),
    [
        (cancelled(), RolloutStatus.CANCELLED),
        (
            RolloutFaulted(
                id="f",
                run_id="run",
                rollout_id="run/7/0",
                failure=Failure(kind=FailureKind.HARNESS_STUCK, stage=Stage.HARNESS, message="stuck"),
            ),
            RolloutStatus.FAILED,
        ),
    ],
)
def test_a_rollout_can_end_before_it_begins(table, event, status):
    play = table(ToolCalling())
    play.accept(event)
    assert play.requests == []
    assert play.trajectory.status is status
    assert play.trajectory.messages == play.request.messages


def test_nothing_is_accepted_after_the_end_or_twice(table):
    play = table(SingleTurn(), session=False)
    play.start()
    assert play.start() is None
    play.reply()
    assert play.reply() is None
    assert play.accept(cancelled()) is None
    assert len(play.finished) == 1


def test_a_result_must_be_of_the_kind_that_is_waited_for(table):
    play = table(ToolCalling())
    play.start()
    assert play.closed(session_id="run/7/0/1") is None
    play.ready()
    assert play.ready() is None
    call = play.last(ModelCallRequested)
    action = ToolCallRequested(
        id=call.id, run_id="run", rollout_id="run/7/0", session_id="run/7/0/1", turn=1,
        call={"id": "x", "function": {"name": "a", "arguments": ""}}, timeout_seconds=1,
    )  # fmt: skip
    assert play.observe(action) is None
    assert play.fail_tool(action, FailureKind.TOOL_DEADLINE) is None
    play.reply()
    assert play.last(SessionCloseRequested).discard is False


def test_a_harness_that_is_not_there(table):
    missing = Failure(kind=FailureKind.UNKNOWN_HARNESS, stage=Stage.HARNESS, message="no such harness")
    play = table(missing)
    play.start()
    assert play.requests == []
    assert play.trajectory.failure == missing


@pytest.mark.parametrize("ends", ["closed", "cancelled"])
def test_the_record_is_whole_and_survives_the_log(table, calls, ends):
    play = table(ToolCalling())
    play.start()
    play.ready()
    play.reply(None, calls=calls("a"))
    play.observe(play.actions()[0], done=True)
    decision = play.closed(evidence={"seen": 1}) if ends == "closed" else play.accept(cancelled())
    event = decision.finished
    for record in (event, event.trajectory):
        assert record.__dict__.keys() == type(record).model_fields.keys()
    assert TrajectoryFinished.model_validate_json(event.model_dump_json(exclude_none=True)) == event
