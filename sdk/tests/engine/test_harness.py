"""What a harness may do, what it sees, and what becomes of one that misbehaves."""

import asyncio

import pytest

from odradek.harness import Harness
from odradek.harnesses.tool_calling import ToolCalling
from odradek_schemas.events import ModelCallRequested
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import Message, TokenRecord
from odradek_schemas.rollouts import RolloutStatus


class Played(Harness):
    """A harness made of a function."""

    name = "played"

    def __init__(self, run):
        self._play = run

    async def run(self, rollout):
        await self._play(rollout)


def harness_failure(play):
    assert play.trajectory.status is RolloutStatus.FAILED
    assert play.trajectory.failure.kind is FailureKind.HARNESS_ERROR
    return play.trajectory.failure.message


def test_it_sees_the_rollout(table):
    seen = {}

    async def run(rollout):
        seen.update(
            task=rollout.task,
            attempt=rollout.attempt,
            before=(rollout.turn, rollout.finished),
            messages=[m.text for m in rollout.messages],
            now=rollout.now(),
        )
        reply = await rollout.model()
        seen.update(
            reply=reply.text, after=(rollout.turn, rollout.finished), passed=rollout.now() - seen["now"]
        )

    play = table(Played(run), session=False)
    play.start()
    play.reply("hello")
    assert seen["task"] == {"start": 3}
    assert seen["messages"] == ["Count.", "Go."]
    assert (seen["before"], seen["after"]) == ((0, False), (1, False))
    assert seen["reply"] == "hello"
    assert seen["passed"].total_seconds() == 1
    assert seen["attempt"] == 1


def test_chance_is_fixed_by_seed_and_attempt(table):
    drawn = []

    async def run(rollout):
        drawn.append(rollout.random.random())
        await rollout.model()

    for seed in (5, 5, 6):
        play = table(Played(run), session=False, seed=seed)
        play.start()
        play.fail_model(FailureKind.RATE_LIMITED)
    first, second, same, same_second, other, _ = drawn
    assert (first, second) == (same, same_second)
    assert len({first, second, other}) == 3


def test_it_can_add_messages_and_choose_the_sampling(table):
    async def run(rollout):
        await rollout.model(temperature=0.5)
        rollout.add(Message(role="user", content="Are you sure?"))
        await rollout.model()

    play = table(Played(run), session=False, sampling={"temperature": 1.0, "max_tokens": 9})
    play.start()
    call = play.last(ModelCallRequested)
    assert (call.sampling.temperature, call.sampling.max_tokens) == (0.5, 9)
    play.reply("yes")
    call = play.last(ModelCallRequested)
    assert call.sampling.temperature == 1.0
    assert [message.text for message in call.messages][-2:] == ["yes", "Are you sure?"]
    play.reply("quite")
    assert [m.text for m in play.trajectory.messages][-3:] == ["yes", "Are you sure?", "quite"]
    assert play.trajectory.steps[1].message == 4


def test_it_can_sleep(table):
    async def run(rollout):
        await rollout.sleep(30)
        await rollout.model()

    play = table(Played(run), session=False)
    decision = play.start()
    assert decision.requests == []
    ((due, timer),) = [t for t in play.machine.timers() if t[1] != "rollout"]
    assert ((due - play.now).total_seconds(), timer) == (30, "run/7/0/1/1")
    play.fire(timer)
    assert play.last(ModelCallRequested).id == "run/7/0/1/2"


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_it_can_not_sleep_for_nonsense(table, seconds):
    async def run(rollout):
        await rollout.sleep(seconds)

    play = table(Played(run), session=False)
    play.start()
    assert "rollout.sleep" in harness_failure(play)


def test_asking_on_after_a_bound_ends_it_there(table):
    reached = []

    async def run(rollout):
        while True:
            try:
                await rollout.model()
            finally:
                reached.append(rollout.turn)

    play = table(Played(run), session=False, limits={"max_turns": 2})
    play.start()
    play.reply()
    play.reply()
    assert (play.trajectory.status, play.trajectory.truncated_by) == (RolloutStatus.TRUNCATED, "max_turns")
    assert reached == [1, 2, 2], "the harness was closed at its third call"


def test_going_on_after_the_episode_is_over_completes_it(table, calls):
    async def run(rollout):
        while True:
            reply = await rollout.model()
            await rollout.act(reply.tool_calls)

    play = table(Played(run))
    play.start()
    play.ready()
    play.reply(None, calls=calls("end"))
    play.observe(play.actions()[0], done=True)
    play.closed()
    assert play.trajectory.status is RolloutStatus.COMPLETED


def test_no_calls_are_no_step(table):
    async def run(rollout):
        assert await rollout.act([]) == []

    play = table(Played(run))
    play.start()
    play.ready()
    play.closed()
    assert play.trajectory.status is RolloutStatus.COMPLETED


def test_tool_calling_answers_at_once_where_there_is_nothing_to_act_on(table, calls):
    play = table(ToolCalling(), session=False)
    play.start()
    play.reply(None, calls=calls("add"))
    assert play.trajectory.status is RolloutStatus.COMPLETED


def test_acting_without_a_session_is_misuse(table, calls):
    async def run(rollout):
        await rollout.act(calls("add"))

    play = table(Played(run), session=False)
    play.start()
    assert "no session" in harness_failure(play)


def test_what_it_raises_ends_the_rollout(table):
    async def run(rollout):
        await rollout.model()
        raise KeyError("lost")

    play = table(Played(run), session=False)
    play.start()
    play.reply()
    message = harness_failure(play)
    assert message.startswith("KeyError: 'lost'")
    assert "test_harness.py" in message
    assert len(play.trajectory.steps) == 1


@pytest.mark.parametrize(
    "error", [SystemExit(3), asyncio.CancelledError(), GeneratorExit(), RecursionError()]
)
def test_nothing_that_it_raises_reaches_the_worker(table, error):
    async def run(rollout):
        raise error

    play = table(Played(run), session=False)
    play.start()
    assert type(error).__name__ in harness_failure(play)


def test_an_interrupt_is_the_workers(table):
    async def run(rollout):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table(Played(run), session=False).start()


async def sleeps(rollout):
    await asyncio.sleep(0.1)


async def yields(rollout):
    await asyncio.sleep(0)


async def has_a_timeout(rollout):
    async with asyncio.timeout(1):
        await rollout.model()


@pytest.mark.parametrize("run", [sleeps, yields, has_a_timeout])
def test_asyncio_is_out_of_reach(table, run):
    play = table(Played(run), session=False)
    play.start()
    assert "may only await the rollout's own methods" in harness_failure(play)


@pytest.mark.parametrize("run", [sleeps, yields, has_a_timeout])
async def test_asyncio_is_out_of_reach_on_a_workers_loop_too(table, run):
    loop = asyncio.get_running_loop()
    play = table(Played(run), session=False)
    play.start()
    assert "may only await the rollout's own methods" in harness_failure(play)
    assert asyncio.get_running_loop() is loop


def test_run_must_be_a_coroutine(table):
    class Plain(Harness):
        name = "plain"

        def run(self, rollout):
            return None

    play = table(Plain(), session=False)
    play.start()
    assert "Plain.run must be `async def`" in harness_failure(play)


def test_a_harness_that_will_not_go_is_a_harness_error(table):
    async def run(rollout):
        while True:
            try:
                await rollout.model()
            except GeneratorExit:
                await rollout.model()

    play = table(Played(run), session=False, limits={"max_turns": 1})
    play.start()
    play.reply()
    assert "ignored GeneratorExit" in harness_failure(play)


def test_only_messages_can_be_added(table):
    async def run(rollout):
        rollout.add({"role": "user", "content": "hi"})

    play = table(Played(run), session=False)
    play.start()
    assert "takes Message, not dict" in harness_failure(play)


def test_each_call_keeps_what_it_was_asked_with_where_it_differs(table):
    """A trainer must know with which temperature a token was sampled."""

    async def run(rollout):
        await rollout.model(temperature=0.5)
        await rollout.model()

    play = table(Played(run), session=False, sampling={"temperature": 1.0})
    play.start()
    play.reply()
    play.reply()
    first, second = play.trajectory.steps
    assert (first.sampling.temperature, second.sampling) == (0.5, None)
    assert play.trajectory.sampling.temperature == 1.0


def test_the_trajectory_says_how_much_of_it_can_be_trained_on(table):
    """Two calls with all of their tokens, one without logprobs, one without anything: half."""

    async def run(rollout):
        for _ in range(4):
            await rollout.model()

    whole = TokenRecord(prompt_token_ids=[1], completion_token_ids=[2], logprobs=[-1.0])
    play = table(Played(run), session=False)
    play.start()
    for record in (whole, whole.model_copy(update={"logprobs": None}), None, whole):
        play.reply(record=record)
    assert play.trajectory.token_coverage == 0.5


def test_without_any_tokens_there_is_no_share_to_tell(table):
    async def run(rollout):
        await rollout.model()

    play = table(Played(run), session=False)
    play.start()
    play.reply()
    assert play.trajectory.token_coverage is None


def test_sampling_that_is_none_is_refused(table):
    async def run(rollout):
        await rollout.model(temprature=1)

    play = table(Played(run), session=False)
    play.start()
    message = harness_failure(play)
    assert "temprature" in message
    assert "\n" not in message
