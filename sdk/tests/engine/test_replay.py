"""A rollout out of its journal: the same again, or a typed end."""

import time

import pytest

from odradek.engine import Unreplayable, abandoned, replay
from odradek.harness import Harness
from odradek.harnesses.single_turn import SingleTurn
from odradek.harnesses.tool_calling import ToolCalling
from odradek_schemas.events import JournalAppended, RolloutFaulted, SessionCloseRequested
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.messages import Message
from odradek_schemas.rollouts import RolloutStatus

STUCK = Failure(kind=FailureKind.HARNESS_STUCK, stage=Stage.HARNESS, message="stuck")


def through_the_log(entries):
    return [JournalAppended.model_validate_json(e.model_dump_json(exclude_none=True)) for e in entries]


class Fickle(Harness):
    """Does what its `mood` says: not the same on each run."""

    name = "fickle"

    def __init__(self, mood):
        self.mood = mood

    async def run(self, rollout):
        await rollout.model()
        if self.mood == "content":
            rollout.add(Message(role="user", content=str(time.monotonic_ns())))
        if self.mood == "ends":
            return
        if self.mood == "raises":
            raise ValueError
        if self.mood == "sleeps":
            await rollout.sleep(1)
        await rollout.model(**({"temperature": 2.0} if self.mood == "sampling" else {}))


def played(table, calls):
    play = table(ToolCalling())
    play.start()
    play.ready()
    play.reply(None, calls=calls("a", "b"))
    play.observe(play.actions()[1])
    return play


def test_a_replayed_rollout_goes_on_as_if_nothing_had_happened(table, calls):
    play = played(table, calls)
    machine = replay(through_the_log(play.entries), ToolCalling())
    assert machine.timers() == play.machine.timers()
    play.machine = machine
    play.observe(play.actions()[0])
    play.reply("end")
    play.closed()
    assert play.trajectory.status is RolloutStatus.COMPLETED
    assert [m.role for m in play.trajectory.messages][2:] == ["assistant", "tool", "tool", "assistant"]


@pytest.mark.parametrize("mood", ["content", "ends", "raises", "sleeps", "sampling"])
def test_a_harness_that_does_otherwise_is_found_out(table, mood):
    play = table(Fickle("calm"), session=False)
    play.start()
    play.reply()
    replay(play.entries, Fickle("calm"))
    with pytest.raises(Unreplayable) as caught:
        replay(play.entries, Fickle(mood))
    assert caught.value.failure.kind is FailureKind.HARNESS_NONDETERMINISTIC
    assert "input 1 (ModelCallCompleted)" in caught.value.failure.message


def test_what_a_harness_adds_from_outside_is_found_out(table):
    play = table(Fickle("content"), session=False)
    play.start()
    play.reply()
    with pytest.raises(Unreplayable, match=r"the content of .* differs"):
        replay(play.entries, Fickle("content"))


def test_a_tool_call_of_its_own_making_is_found_out(table, calls):
    class Invents(Harness):
        name = "invents"

        def __init__(self, tool):
            self.tool = tool

        async def run(self, rollout):
            await rollout.act(calls(self.tool))

    play = table(Invents("a"))
    play.start()
    play.ready()
    with pytest.raises(Unreplayable, match=r"the content of .* differs"):
        replay(play.entries, Invents("b"))


def test_an_entry_that_is_not_waited_for_is_found_out(table, calls):
    play = played(table, calls)
    twice = [*play.entries, play.entries[-1].model_copy(update={"sequence": len(play.entries)})]
    with pytest.raises(Unreplayable, match="not waited for now"):
        replay(twice, ToolCalling())


def test_a_gap_in_the_journal_is_named(table, calls):
    entries = played(table, calls).entries
    with pytest.raises(Unreplayable, match="entry 1 is missing") as caught:
        replay([entries[0], *entries[2:]], ToolCalling())
    assert caught.value.failure.kind is FailureKind.UNREADABLE_RECORD
    for lost in ([], entries[1:]):
        with pytest.raises(Unreplayable, match="beginning"):
            replay(lost, ToolCalling())
        with pytest.raises(Unreplayable, match="beginning"):
            abandoned(lost)


def test_an_abandoned_rollout_ends_without_its_harness(table, calls):
    play = played(table, calls)
    play.fail_tool(play.actions()[0], FailureKind.TOOL_INTERRUPTED)
    play.ready()
    play.machine = abandoned(through_the_log(play.entries))
    assert play.reply() is None, "it accepts nothing but its end"
    play.accept(RolloutFaulted(id="f", run_id="run", rollout_id="run/7/0", failure=STUCK))
    assert play.last(SessionCloseRequested).id == "run/7/0/2/close"
    assert play.trajectory.status is RolloutStatus.FAILED
    assert play.trajectory.failure == STUCK
    assert play.trajectory.attempt == 2
    assert play.trajectory.usage.total_tokens == 10
    assert play.trajectory.started_at == play.entries[0].time


def test_an_abandoned_rollout_closes_no_session_twice(table):
    play = table(ToolCalling())
    play.start()
    play.ready()
    play.reply("end")
    play.machine = abandoned(play.entries)
    decision = play.accept(RolloutFaulted(id="f", run_id="run", rollout_id="run/7/0", failure=STUCK))
    assert decision is not None
    assert decision.requests == []


def test_a_dropped_rollout_closes_its_harness(table):
    left = []

    class Tidy(Harness):
        name = "tidy"

        async def run(self, rollout):
            try:
                await rollout.model()
            finally:
                left.append(True)

    play = table(Tidy(), session=False)
    play.start()
    assert play.machine.drop() is None
    assert left == [True]
    assert play.reply() is None


def test_a_replay_repeats_time_and_chance(table):
    seen = []

    class Notes(Harness):
        name = "notes"

        async def run(self, rollout):
            seen.append((repr(rollout.now()), rollout.random.random()))
            await rollout.model()
            seen.append((repr(rollout.now()), rollout.random.random()))
            await rollout.model()

    play = table(Notes(), session=False)
    play.start()
    play.reply()
    first, seen[:] = list(seen), []
    replay(through_the_log(play.entries), Notes())
    assert seen == first


def test_a_single_turn_replays(table):
    play = table(SingleTurn(), session=False)
    play.start()
    play.machine = replay(play.entries, SingleTurn())
    play.reply("four")
    assert play.trajectory.status is RolloutStatus.COMPLETED
