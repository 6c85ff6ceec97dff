"""What an unfinished rollout waits for, from its journal alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from odradek_cli.unfinished import Unfinished
from odradek_schemas.codec import encode
from odradek_schemas.events import (
    HarnessStuck,
    JournalAppended,
    ModelCallCompleted,
    RolloutEnded,
    RolloutRequested,
    RolloutSnapshot,
    SessionReady,
    TimerFired,
    ToolCallCompleted,
)
from odradek_schemas.events.journal import RequestPrint
from odradek_schemas.messages import Message, Usage
from odradek_schemas.rollouts import Group, Limits, RolloutStatus

START = datetime(2026, 11, 29, tzinfo=UTC)
ROLLOUT: dict[str, Any] = {"id": "r/0/0", "run_id": "r", "rollout_id": "r/0/0"}
SESSION = {**ROLLOUT, "session_id": "r/0/0/1"}
ASKED = RolloutRequested(
    **ROLLOUT,
    environment="e",
    harness="h",
    model="m",
    seed=1,
    task={},
    messages=[Message(role="user", content="hello")],
    group=Group(task_id="r/0", size=1),
    sample=0,
    session=True,
    limits=Limits(rollout_seconds=77),
)
REPLY: dict[str, Any] = {
    "model": "m",
    "message": Message(role="assistant", content="hi"),
    "finish_reason": "stop",
    "usage": Usage(),
    "latency_ms": 1.0,
}


def entry(second: int, accepted: Any, *requests: str) -> JournalAppended:
    prints = [RequestPrint(id=request, fingerprint="f") for request in requests]
    moment = START + timedelta(seconds=second)
    return JournalAppended(**ROLLOUT, time=moment, sequence=second, input=accepted, requests=prints)


BEGUN = [entry(0, ASKED, "r/0/0/1/open")]
ACTING = [
    *BEGUN,
    entry(1, SessionReady(**SESSION, tools=[]), "r/0/0/1/1"),
    entry(2, ModelCallCompleted(**ROLLOUT, call_id="r/0/0/1/1", **REPLY), "r/0/0/1/2", "r/0/0/1/3"),
]


def waits(*events: Any) -> dict[str, int] | None:
    """What rollout r/0/0 waits for, and since which second; None: it is not unfinished."""
    journal = Unfinished()
    for event in events:
        value = encode(event, "test").value
        assert value is not None
        journal.take(value, START)
    rollout = journal.rollouts.get("r/0/0")
    return rollout and {on: (asked.since - START).seconds for on, asked in rollout.waits.items()}


def test_each_request_is_waited_for_until_its_answer_is_accepted() -> None:
    assert waits(*BEGUN) == {"r/0/0/1/open": 0}
    assert waits(*ACTING[:2]) == {"r/0/0/1/1": 1}
    assert waits(*ACTING) == {"r/0/0/1/2": 2, "r/0/0/1/3": 2}
    one = entry(3, ToolCallCompleted(**SESSION, call_id="r/0/0/1/3", content="done"))
    assert waits(*ACTING, one) == {"r/0/0/1/2": 2}


def test_a_new_attempt_ends_the_waits_of_the_one_before() -> None:
    late = entry(9, TimerFired(**ROLLOUT, timer="r/0/0/1/2"), "r/0/0/1/close", "r/0/0/2/open")
    assert waits(*ACTING, late) == {"r/0/0/2/open": 9}


def test_a_session_that_is_not_answered_in_time_is_not_waited_for() -> None:
    late = entry(9, TimerFired(**ROLLOUT, timer="r/0/0/1"), "r/0/0/2/open")
    assert waits(*BEGUN, late) == {"r/0/0/2/open": 9}


def test_what_has_ended_waits_for_nothing() -> None:
    assert waits(*ACTING, RolloutEnded(**ROLLOUT, status=RolloutStatus.COMPLETED)) is None
    assert waits(*ACTING, RolloutEnded(**ROLLOUT, status=RolloutStatus.COMPLETED), *BEGUN) == {
        "r/0/0/1/open": 0
    }


def test_an_entry_may_be_the_last_word_on_its_rollout() -> None:
    last = entry(3, TimerFired(**ROLLOUT, timer="rollout")).model_copy(update={"ended": RolloutStatus.FAILED})
    assert waits(*ACTING, last) is None
    assert waits(last) is None, "as it is read behind a restore point"


def test_a_snapshot_stands_for_all_before_it() -> None:
    assert waits(*BEGUN, RolloutSnapshot(**ROLLOUT, entries=ACTING)) == {"r/0/0/1/2": 2, "r/0/0/1/3": 2}


def test_the_limits_and_a_stuck_harness_are_kept() -> None:
    journal = Unfinished()
    for event in (*ACTING, HarnessStuck(**ROLLOUT, seconds=4.0)):
        journal.take(encode(event, "test").value or b"", START)
    (rollout,) = journal.rollouts.values()
    assert (rollout.limits.rollout_seconds, rollout.began, rollout.stuck) == (77, START, True)


def test_what_is_none_of_the_journals_is_refused() -> None:
    with pytest.raises(ValueError, match="JournalAppended"):
        Unfinished().take(b'{"type": "RunRequested"}', START)
