"""Scorings that ask judges: what is asked, what is remembered, and how they go on after a death."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio

from odradek_runtime.records import Outputs, Tombstone
from odradek_schemas.codec import InvalidValue
from odradek_schemas.events import (
    JudgingChanged,
    ModelCallCompleted,
    ModelCallFailed,
    ModelCallRequested,
    RecordCoordinates,
    RewardAssigned,
    TrajectoryFinished,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.messages import Message, Usage
from odradek_scoring import PRIMARY, Answers, Pool, Scorer, Scoring
from odradek_verifier_worker.judgings import GRACE_SECONDS, Judgings

pytestmark = pytest.mark.asyncio(loop_scope="module")

AT = RecordCoordinates(topic="trajectories", partition=2, offset=7)
ANSWER = "sealed"


class Bench:
    """A partition's judgings with their log: what they would find after a death."""

    def __init__(self, pool: Pool) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.trajectories: dict[int, TrajectoryFinished] = {}
        self.changelog: dict[str, str] = {}
        self.rewards: list[RewardAssigned] = []
        self._pool = pool
        self.begin_anew()

    def begin_anew(self) -> None:
        """The next owner: it knows what was committed."""
        scorer = Scorer(self._pool, Opened(None))
        self.judgings = Judgings(scorer, self._read, 60.0, lambda: self.now)
        for key, written in self.changelog.items():
            self.judgings.restore(key, JudgingChanged.model_validate_json(written))

    def commit(self, outputs: Outputs) -> list[ModelCallRequested]:
        """Write outputs to the log; the calls among them."""
        calls = []
        for output in outputs:
            if isinstance(output, Tombstone):
                del self.changelog[output.key]
            elif isinstance(output.event, ModelCallRequested):
                calls.append(output.event)
            elif isinstance(output.event, JudgingChanged):
                self.changelog[output.event.key] = output.event.model_dump_json()
            else:
                assert isinstance(output.event, RewardAssigned)
                self.rewards.append(output.event)
        return calls

    async def score(self, event: TrajectoryFinished, scoring: Scoring = PRIMARY) -> list[ModelCallRequested]:
        self.trajectories[AT.offset] = event
        return self.commit(await self.judgings.score(event, b"", AT, scoring))

    async def say(self, call: ModelCallRequested, said: str | FailureKind) -> list[ModelCallRequested]:
        return self.commit(await self.judgings.hear(_result(call, said)))

    async def _read(self, at: RecordCoordinates) -> TrajectoryFinished:
        if at.offset not in self.trajectories:
            raise InvalidValue(at, "the trajectory is not in the log any more")
        return self.trajectories[at.offset]


class Opened(Answers):
    """Answers that nobody sealed."""

    def open(self, sealed: str | None) -> dict[str, object] | None:
        return {"expected": "B"} if sealed == ANSWER else None


def _result(call: ModelCallRequested, said: str | FailureKind) -> ModelCallCompleted | ModelCallFailed:
    names = {"run_id": call.run_id, "rollout_id": call.rollout_id, "call_id": call.id}
    if isinstance(said, FailureKind):
        failure = Failure(kind=said, stage=Stage.MODEL, message="no")
        return ModelCallFailed(id=f"{call.id}/failed", failure=failure, **names)
    return ModelCallCompleted(
        id=f"{call.id}/completed",
        model=call.model,
        message=Message(role="assistant", content=said),
        finish_reason="stop",
        usage=Usage(completion_tokens=1),
        latency_ms=1.0,
        **names,
    )


@pytest_asyncio.fixture(loop_scope="module")
async def bench(pool: Pool) -> AsyncIterator[Bench]:
    yield Bench(pool)


@pytest.fixture
def asking(finished: Callable[..., TrajectoryFinished]) -> TrajectoryFinished:
    return finished("ask", sealed_answer=ANSWER)


async def test_a_judge_is_asked_and_its_answers_make_the_reward(
    bench: Bench, asking: TrajectoryFinished
) -> None:
    first, second = await bench.score(asking)
    assert (first.id, second.id) == ("run/0/0/judge/primary/0.0", "run/0/0/judge/primary/0.1")
    assert [call.messages[0].text for call in (first, second)] == ["Is it first?", "Is it second?"]
    assert first.model == "scripted"
    assert await bench.say(first, "yes") == []
    assert await bench.say(second, "yes") == []
    (reward,) = bench.rewards
    assert (reward.reward, reward.masked, reward.id) == (1.0, False, "run/0/0/reward/primary")
    assert [(j.call_id, j.reply.message.text) for j in reward.judgements if j.reply.message] == [
        (first.id, "yes"),
        (second.id, "yes"),
    ]
    assert reward.trajectory == AT
    assert bench.changelog == {}


async def test_it_may_ask_again_after_the_first_answers(bench: Bench, asking: TrajectoryFinished) -> None:
    first, second = await bench.score(asking)
    await bench.say(second, "no")
    (third,) = await bench.say(first, "yes")
    assert third.id == "run/0/0/judge/primary/1.0"
    await bench.say(third, "yes")
    (reward,) = bench.rewards
    assert reward.reward == pytest.approx(2 / 3)
    assert [j.reply.question for j in reward.judgements] == ["first", "second", "third"]


async def test_a_death_at_any_moment_asks_nothing_twice(bench: Bench, asking: TrajectoryFinished) -> None:
    calls = await bench.score(asking)
    asked = list(calls)
    answers = {"first": "yes", "second": "no", "third": "yes"}
    while calls:
        bench.begin_anew()
        call = calls.pop(0)
        more = await bench.say(call, answers[call.messages[0].text[6:-1]])
        asked += more
        calls += more
        bench.begin_anew()
        assert await bench.say(call, "no") == []  # heard before: no news
    assert len({call.id for call in asked}) == len(asked) == 3
    assert [reward.reward for reward in bench.rewards] == [pytest.approx(2 / 3)]


async def test_a_judge_that_fails_masks_the_reward_with_its_kind(
    bench: Bench, asking: TrajectoryFinished
) -> None:
    first, second = await bench.score(asking)
    await bench.say(first, FailureKind.RATE_LIMITED)
    (third,) = await bench.say(second, "yes")
    await bench.say(third, "yes")
    (reward,) = bench.rewards
    assert (reward.reward, reward.masked) == (None, True)
    assert reward.failure is not None
    assert reward.failure.kind is FailureKind.RATE_LIMITED
    assert len(reward.judgements) == 3


async def test_a_judge_that_never_answers_is_given_up(bench: Bench, asking: TrajectoryFinished) -> None:
    await bench.score(asking)
    assert bench.judgings.overdue() == []
    bench.now += timedelta(seconds=60 + GRACE_SECONDS + 1)
    bench.begin_anew()
    (key,) = bench.judgings.overdue()
    bench.commit(await bench.judgings.expire(key))
    assert [reward.failure.kind for reward in bench.rewards if reward.failure] == [FailureKind.MODEL_DEADLINE]
    assert bench.changelog == {}


async def test_a_re_score_asks_apart_with_its_own_settings(bench: Bench, asking: TrajectoryFinished) -> None:
    await bench.score(asking)
    first, second = await bench.score(asking, Scoring("again", None, {"judge": "other"}))
    assert (first.id, first.model) == ("run/0/0/judge/again/0.0", "other")
    for call in (first, second):
        bench.begin_anew()
        await bench.say(call, "yes")
    (reward,) = bench.rewards
    assert (reward.scoring, reward.id) == ("again", "run/0/0/reward/again")
    assert list(bench.changelog) == ["run/0/0/judge/primary"]


async def test_one_that_is_begun_twice_is_one(bench: Bench, asking: TrajectoryFinished) -> None:
    assert len(await bench.score(asking)) == 2
    assert await bench.score(asking) == []


async def test_a_trajectory_that_is_gone_masks_the_reward(bench: Bench, asking: TrajectoryFinished) -> None:
    first, second = await bench.score(asking)
    bench.trajectories.clear()
    bench.begin_anew()
    await bench.say(first, "yes")
    await bench.say(second, "yes")
    (reward,) = bench.rewards
    assert reward.failure is not None
    assert reward.failure.kind is FailureKind.UNREADABLE_RECORD
    assert bench.changelog == {}


async def test_one_that_asks_anew_while_others_are_given_up_has_time_again(
    bench: Bench, asking: TrajectoryFinished
) -> None:
    first, second = await bench.score(asking)
    await bench.say(first, "yes")
    bench.now += timedelta(seconds=60 + GRACE_SECONDS + 1)
    (key,) = bench.judgings.overdue()
    (third,) = await bench.say(second, "no")  # at the last moment
    assert bench.commit(await bench.judgings.expire(key)) == []
    await bench.say(third, "yes")
    assert [reward.reward for reward in bench.rewards] == [pytest.approx(2 / 3)]
