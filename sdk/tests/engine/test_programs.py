"""A program that plays an attempt: its calls become steps as they come, and its end is judged by what the model side said."""

from datetime import timedelta

import pytest

from odradek.engine import Unreplayable, replay
from odradek.engine.programs import MOST_FAILURES, PROGRAM_GRACE_SECONDS
from odradek.harness import Harness
from odradek.harnesses.program import Program
from odradek.plugins import load_harness
from odradek_schemas.events import (
    Asked,
    JournalAppended,
    ModelAccessEnded,
    ModelCallCompleted,
    ModelCallFailed,
    ProgramFailed,
    ProgramFinished,
    ProgramRequested,
    RunCancelled,
    SessionCloseRequested,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.messages import FunctionCall, FunctionSpec, Message, Sampling, ToolCall, ToolSpec, Usage
from odradek_schemas.rollouts import ModelStep, ProgramStep, RolloutStatus

SHELL = ToolSpec(function=FunctionSpec(name="shell"))
SYSTEM = Message(role="system", content="You are a program.")
USER = Message(role="user", content="Count.\n\nGo.")


def started(table, **changes):
    play = table(Program("agent"), **changes)
    play.start()
    play.ready()
    return play


def program(play):
    return play.last(ProgramRequested)


def called(play, *messages, say="fine", calls=None, name="a", tools=(SHELL,), tokens=10):
    """A call of the program: what it asked with, and what it got."""
    call_id = f"{program(play).id}/http-{name}"
    return play.accept(
        ModelCallCompleted(
            **play._ids(call_id, "completed"),
            call_id=call_id,
            model="small",
            message=Message(role="assistant", content=say, tool_calls=calls),
            finish_reason="tool_calls" if calls else "stop",
            usage=Usage(prompt_tokens=tokens - 1, completion_tokens=1),
            latency_ms=2.0,
            asked=Asked(
                dialect="chat",
                messages=list(messages),
                tools=list(tools),
                sampling=Sampling(temperature=0.5),
                digest=name,
            ),
        )
    )


def failed(play, kind=FailureKind.AUTH, name="f"):
    call_id = f"{program(play).id}/http-{name}"
    failure = Failure(kind=kind, stage=Stage.MODEL, message="no")
    return play.accept(ModelCallFailed(**play._ids(call_id, "failed"), call_id=call_id, failure=failure))


def ended(play, result="done", **changes):
    asked = program(play)
    return play.accept(
        ProgramFinished(
            **play._ids(asked.id, "finished"),
            session_id=asked.session_id,
            call_id=asked.id,
            result=result,
            latency_ms=9.0,
            **{"exit_code": 0, **changes},
        )
    )


def ends_of_access(play):
    return [made.reason for made in play.requests if isinstance(made, ModelAccessEnded)]


def test_a_program_is_run_on_the_prompt_in_what_time_is_left(table):
    play = started(table, limits={"program_seconds": 100, "model_seconds": 7}, sampling={"temperature": 1.0})
    asked = program(play)
    assert (asked.id, asked.session_id, asked.program) == ("run/7/0/1/1", "run/7/0/1", "agent")
    assert (asked.prompt, asked.model, asked.model_seconds) == ("Count.\n\nGo.", "small", 7)
    assert (asked.timeout_seconds, asked.sampling.temperature) == (100, 1.0)
    short = started(table, limits={"program_seconds": 100, "rollout_seconds": 50})
    assert program(short).timeout_seconds == 49
    assert load_harness("program:agent")


def test_its_calls_are_steps_in_order_each_message_and_tool_once(table):
    play = started(table)
    call = ToolCall(id="c1", function=FunctionCall(name="shell", arguments='{"command": "ls"}'))
    called(play, SYSTEM, USER, say="Look.", calls=[call])
    echo = ToolCall(id="c1", function=FunctionCall(name="shell", arguments='{"command":"ls"}'))
    reply = Message(role="assistant", content=[{"type": "text", "text": "Look."}], tool_calls=[echo])
    seen = Message(role="tool", tool_call_id="c1", content="a.txt")
    other = ToolSpec(function=FunctionSpec(name="edit"))
    called(play, SYSTEM, USER, reply, seen, say="Done.", name="b", tools=(other, SHELL))
    called(play, SYSTEM, Message(role="user", content="A title?"), say="Look.", name="c", tools=())
    ended(play, result="Done.")
    play.closed(evidence={"files": 1})

    trajectory = play.trajectory
    assert (trajectory.status, trajectory.evidence) == (RolloutStatus.COMPLETED, {"files": 1})
    texts = [
        "Count.",
        "Go.",
        "You are a program.",
        "Count.\n\nGo.",
        "Look.",
        "a.txt",
        "Done.",
        "A title?",
        "Look.",
    ]
    assert [message.text for message in trajectory.messages] == texts
    first, second, third, end = trajectory.steps
    assert [step.message for step in (first, second, third)] == [4, 6, 8]
    assert [step.context for step in (first, second, third)] == [[2, 3], [2, 3, 4, 5], [2, 7]]
    assert [tool.function.name for tool in trajectory.tools] == ["add", "shell", "edit"]
    assert [step.offered for step in (first, second, third)] == [[1], [2, 1], []]
    assert isinstance(first, ModelStep)
    assert (first.call_id, first.turn, first.sampling.temperature) == ("run/7/0/1/1/http-a", 1, 0.5)
    assert isinstance(end, ProgramStep)
    assert (end.program, end.result, end.exit_code) == ("agent", "Done.", 0)
    assert (trajectory.usage.total_tokens, trajectory.turns) == (30, 3)
    assert trajectory.final_message.text == "Look."
    assert ends_of_access(play) == ["the program has ended"]


def test_what_is_not_its_own_or_is_doubled_or_comes_late_changes_nothing(table):
    play = started(table)
    called(play, USER)
    assert called(play, USER) is None
    asked = Asked(dialect="chat", messages=[USER], digest="x")
    strange = {"call_id": "run/7/0/1/9/http-a", "asked": asked}
    assert play.reply(**strange) is None
    ended(play)
    assert called(play, USER, name="late") is None
    assert failed(play, name="late") is None
    play.closed()
    assert play.trajectory.turns == 1


@pytest.mark.parametrize("exit_code", [0, 1])
def test_a_last_call_that_failed_counts_whatever_the_exit_code_says(table, exit_code):
    play = started(table)
    called(play, USER)
    failed(play, FailureKind.AUTH)
    ended(play, exit_code=exit_code, failed=None if exit_code == 0 else "it broke")
    trajectory = play.trajectory
    assert (trajectory.status, trajectory.failure.kind) == (RolloutStatus.FAILED, FailureKind.AUTH)


def test_a_failure_that_was_overcome_does_not_count(table):
    play = started(table)
    failed(play)
    called(play, USER)
    ended(play)
    play.closed()
    assert play.trajectory.status is RolloutStatus.COMPLETED


def test_a_failure_that_may_pass_begins_a_new_attempt_with_another_program(table):
    play = started(table)
    failed(play, FailureKind.UPSTREAM_UNAVAILABLE)
    ended(play, failed="it broke", exit_code=1)
    play.ready()
    assert program(play).id == "run/7/0/2/1"
    assert failed(play, FailureKind.AUTH) is not None
    ended(play)
    assert play.trajectory.failed_attempts[0].kind is FailureKind.UPSTREAM_UNAVAILABLE


@pytest.mark.parametrize(
    ("kind", "change", "told"),
    [
        (FailureKind.CONTEXT_OVERFLOW, {"failed": "x"}, "context_overflow"),
        (None, {"overdue": True, "exit_code": None}, "program_seconds"),
    ],
)
def test_an_attempt_that_was_cut_short_is_truncated(table, kind, change, told):
    play = started(table)
    if kind is not None:
        failed(play, kind)
    ended(play, **change)
    play.closed()
    assert (play.trajectory.status, play.trajectory.truncated_by) == (RolloutStatus.TRUNCATED, told)


def test_a_program_that_says_that_it_failed_is_a_failure_of_its_own(table):
    play = started(table, limits={"max_attempts": 1})
    called(play, USER)
    ended(play, failed="exit code 3: no idea", exit_code=3)
    failure = play.trajectory.failure
    assert failure.kind is FailureKind.PROGRAM_ERROR
    assert failure.message == "program 'agent': exit code 3: no idea"


def test_at_a_bound_its_access_ends_and_what_comes_of_that_is_truncation(table):
    play = started(table, limits={"max_turns": 2})
    called(play, USER)
    assert ends_of_access(play) == []
    called(play, USER, name="b")
    (end,) = [made for made in play.requests if isinstance(made, ModelAccessEnded)]
    assert (end.program_id, end.reason) == ("run/7/0/1/1", "max_turns is reached")
    assert end.expires == program(play).time + timedelta(seconds=program(play).timeout_seconds)
    ended(play, failed="403", exit_code=1)
    play.closed()
    assert play.trajectory.truncated_by == "max_turns"
    assert len(ends_of_access(play)) == 1


def test_a_program_that_ends_well_at_its_bound_has_done_its_work(table):
    play = started(table, limits={"max_turns": 1})
    called(play, USER)
    ended(play)
    play.closed()
    assert play.trajectory.status is RolloutStatus.COMPLETED


def test_after_failures_in_a_row_its_access_ends(table):
    play = started(table)
    for number in range(MOST_FAILURES):
        assert ends_of_access(play) == []
        failed(play, FailureKind.UPSTREAM_UNAVAILABLE, name=str(number))
    assert ends_of_access(play) == ["5 calls in a row failed"]


def test_one_that_can_not_be_run_fails_with_the_reason(table):
    play = started(table)
    asked = program(play)
    failure = Failure(kind=FailureKind.UNKNOWN_PROGRAM, stage=Stage.HARNESS, message="no such program")
    play.accept(
        ProgramFailed(
            **play._ids(asked.id, "failed"), session_id=asked.session_id, call_id=asked.id, failure=failure
        )
    )
    assert play.trajectory.failure.kind is FailureKind.UNKNOWN_PROGRAM
    assert ends_of_access(play) == ["the attempt has ended"]


def test_its_end_is_not_awaited_for_ever(table):
    play = started(table, limits={"program_seconds": 100, "max_attempts": 1})
    asked = program(play)
    due = play.machine.due(asked.id)
    assert due == asked.time + timedelta(seconds=100 + PROGRAM_GRACE_SECONDS)
    play.fire(asked.id)
    assert play.trajectory.failure.kind is FailureKind.PROGRAM_DEADLINE


def test_a_cancelled_run_ends_its_access_and_its_session(table):
    play = started(table)
    play.accept(RunCancelled(id="run", run_id="run", reason="enough"))
    assert ends_of_access(play) == ["the attempt has ended"]
    assert play.last(SessionCloseRequested).discard


def test_what_was_heard_is_there_again_after_a_crash(table):
    play = started(table)
    called(play, USER)
    failed(play)
    entries = [
        JournalAppended.model_validate_json(e.model_dump_json(exclude_none=True)) for e in play.entries
    ]
    play.machine = replay(entries, Program("agent"))
    ended(play)
    assert play.trajectory.failure.kind is FailureKind.AUTH
    assert play.trajectory.turns == 1
    with pytest.raises(Unreplayable):
        replay(entries, Program("another"))


class InTurn(Harness):
    """Two programs, one after another; then it may ask the model itself."""

    name = "in_turn"

    def __init__(self, asks):
        self.asks = asks

    async def run(self, rollout):
        first = await rollout.program("agent", "Begin.")
        await rollout.program("agent", f"Go on after {first}.")
        if self.asks:
            await rollout.model()


@pytest.mark.parametrize("asks", [False, True])
def test_programs_may_play_in_turn_and_then_the_conversation_is_theirs(table, asks):
    play = table(InTurn(asks))
    play.start()
    play.ready()
    assert program(play).prompt == "Begin."
    called(play, USER, say="one")
    ended(play, result="one")
    assert program(play).prompt == "Go on after one."
    called(play, USER, say="two")
    ended(play)
    if asks:
        assert play.trajectory.failure.kind is FailureKind.HARNESS_ERROR
        assert "a program has played" in play.trajectory.failure.message
        return
    play.closed()
    assert [step.kind for step in play.trajectory.steps] == ["model", "program"] * 2
    assert [step.turn for step in play.trajectory.steps if step.kind == "model"] == [1, 2]


def test_without_a_session_there_is_no_place_to_work_in(table):
    play = table(Program("agent"), session=False)
    play.start()
    assert play.trajectory.failure.kind is FailureKind.HARNESS_ERROR
    assert "no place to work in" in play.trajectory.failure.message


def test_a_model_may_say_anything_and_its_echo_is_known_again(table):
    """Arguments that are no JSON, none at all, or nested deeper than anybody writes."""
    deep = f'{{"a": {"[" * 300}{"]" * 300}}}'
    play = started(table)
    said = [USER]
    for number, (arguments, echo) in enumerate(
        [(deep, deep), ("{", "{"), ("{}", ""), ('{"b":1}', '{ "b": 1 }')]
    ):
        call = ToolCall(id=f"c{number}", function=FunctionCall(name="shell", arguments=arguments))
        called(play, *said, say="", calls=[call], name=str(number))
        echoed = ToolCall(id=f"c{number}", function=FunctionCall(name="shell", arguments=echo))
        said = [*said, Message(role="assistant", content="", tool_calls=[echoed])]
    called(play, *said, name="last")
    ended(play)
    play.closed()
    assert play.trajectory.steps[4].context == [2, 3, 4, 5, 6]
