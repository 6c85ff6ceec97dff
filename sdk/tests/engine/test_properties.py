"""Whatever arrives, in whatever order: every rollout ends, once, and its journal tells it again."""

from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.engine import replay
from odradek.harnesses.tool_calling import ToolCalling
from odradek_schemas.events import (
    ModelCallRequested,
    SessionCloseRequested,
    SessionRequested,
    ToolCallRequested,
)
from odradek_schemas.failures import FailureKind
from odradek_schemas.rollouts import ModelStep

KINDS = st.sampled_from(
    [
        FailureKind.UPSTREAM_UNAVAILABLE,
        FailureKind.CONTEXT_OVERFLOW,
        FailureKind.SESSION_LOST,
        FailureKind.INVALID_REQUEST,
    ]
)


class Chance:
    """The world: answers a request that is still open, as the drawn data says."""

    def __init__(self, play, calls, data):
        self.play = play
        self.calls = calls
        self.data = data

    def step(self):
        """Answer one of the open waits."""
        waits = sorted(name for _, name in self.play.machine.timers() if name != "rollout")
        wait = self.data.draw(st.sampled_from(waits), "wait")
        how = self.data.draw(st.sampled_from(["answer", "answer", "answer", "fail", "late"]), "how")
        if how == "late":
            self.play.fire(wait)
        else:
            self.answer(self.asked(wait), how == "fail")

    def asked(self, wait):
        return next(
            made
            for made in reversed(self.play.requests)
            if made.id == wait or getattr(made, "session_id", None) == wait
        )

    def answer(self, request, fails):
        play, kind = self.play, self.data.draw(KINDS, "kind") if fails else None
        if isinstance(request, ModelCallRequested):
            count = self.data.draw(st.integers(0, 3), "calls")
            names = [f"t{n}" for n in range(count)]
            play.fail_model(kind) if fails else play.reply("hm", calls=self.calls(*names) or None)
        elif isinstance(request, ToolCallRequested):
            done = self.data.draw(st.booleans(), "done")
            play.fail_tool(request, kind) if fails else play.observe(request, request.id, done=done)
        elif fails:
            play.fail_session(kind)
        elif isinstance(request, SessionRequested):
            play.ready()
        else:
            assert isinstance(request, SessionCloseRequested)
            play.closed()


@given(data=st.data(), crashes=st.booleans())
@settings(max_examples=150, deadline=None)
def test_every_rollout_ends_once_and_its_journal_tells_it_again(table, calls, data, crashes):
    play = table(ToolCalling(), limits={"max_turns": 3, "max_attempts": 3})
    world = Chance(play, calls, data)
    play.start()
    for _ in range(200):
        if play.finished:
            break
        if crashes:
            play.machine = replay(play.entries, ToolCalling())
        world.step()

    trajectory = play.trajectory
    made = [request.id for request in play.requests]
    assert len(made) == len(set(made)), "no request is made twice"
    assert trajectory.turns <= 3
    assert len(trajectory.failed_attempts) == trajectory.attempt - 1
    opened = {r.session_id for r in play.requests if isinstance(r, SessionRequested)}
    closed = {r.session_id for r in play.requests if isinstance(r, SessionCloseRequested)}
    unopened = {e.input.session_id for e in play.entries if e.input.type == "SessionFailed"}
    assert opened <= closed | unopened, "every world is closed"
    for step in trajectory.steps:
        message = trajectory.messages[step.message]
        assert message.role == ("assistant" if isinstance(step, ModelStep) else "tool")
        assert message.role == "assistant" or message.content == step.call_id


@given(order=st.permutations(range(5)))
@settings(max_examples=40, deadline=None)
def test_the_order_of_parallel_results_does_not_change_the_conversation(table, calls, order):
    play = table(ToolCalling())
    play.start()
    play.ready()
    play.reply(None, calls=calls(*"abcde"))
    actions = play.actions()
    for index in order:
        play.observe(actions[index], f"of {index}")
    play.reply("end")
    play.closed()
    assert [m.text for m in play.trajectory.messages][3:] == [*(f"of {i}" for i in range(5)), "end"]
    tools = [step for step in play.trajectory.steps if step.kind == "tool"]
    assert [step.call_id for step in tools] == [actions[index].id for index in order]
