"""Which replica a call goes to: its rollout's own, unless that one is full or ill."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.models import ModelSettings
from odradek_model_gateway import breaker
from odradek_model_gateway.breaker import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, MOST_FAILURES, Breaker
from odradek_model_gateway.failures import CallError
from odradek_model_gateway.limits import Ask, LocalLimits, Refusal
from odradek_model_gateway.replicas import Replicas, choose, ranked, turned
from odradek_schemas.events import ModelCallRequested
from odradek_schemas.failures import FailureKind

ROLLOUTS = [f"run/{n}/0" for n in range(2000)]


def call() -> ModelCallRequested:
    return ModelCallRequested(
        id="run/1/0/1/0",
        run_id="run",
        rollout_id="run/1/0",
        model="m",
        messages=[],
        deadline=datetime.now(UTC) + timedelta(seconds=60),
    )


def places(*replicas: Any, **settings: Any) -> list[Any]:
    given = {"base_url": list(replicas), "model": "m", **settings}
    return Replicas(ModelSettings.model_validate(given), "m", LocalLimits()).places


def urls(count: int) -> list[str]:
    return [f"http://replica-{n}/v1" for n in range(count)]


def first(of: list[Any]) -> dict[str, str]:
    return {rollout: ranked(of, rollout)[0].url for rollout in ROLLOUTS}


def test_a_rollout_keeps_its_replica_when_others_come_and_go() -> None:
    before, after = first(places(*urls(4))), first(places(*urls(5)))
    moved = {rollout for rollout in ROLLOUTS if before[rollout] != after[rollout]}
    assert {after[rollout] for rollout in moved} == {urls(5)[4]}
    assert len(moved) / len(ROLLOUTS) == pytest.approx(1 / 5, abs=0.04)


def test_shares_follow_the_weights() -> None:
    light, heavy = urls(2)
    counts = Counter(first(places(light, {"url": heavy, "weight": 3})).values())
    assert counts[heavy] / len(ROLLOUTS) == pytest.approx(0.75, abs=0.04)


async def test_one_that_is_full_is_passed_over_and_waited_for_when_all_are() -> None:
    of = places(*urls(3), max_concurrency=1)
    order, soon = ranked(of, "run/1/0"), asyncio.get_running_loop().time() + 60
    async with AsyncExitStack() as inside:
        for full in range(3):
            assert choose(order, 0.0) is order[full]
            await inside.enter_async_context(order[full].gate.turn("run", Ask("m", 1), soon))
        assert choose(order, 0.0) is order[0]


def test_one_that_is_ill_is_passed_over_until_its_pause_is_over() -> None:
    of = ranked(places(*urls(2)), "run/1/0")
    for _ in range(MOST_FAILURES):
        of[0].breaker.failed(100.0)
    assert choose(of, 100.0) is of[1]
    assert choose(of, 100.0 + FIRST_PAUSE_SECONDS) is of[0]


def test_when_all_are_ill_the_call_is_told_for_how_long() -> None:
    of = places(*urls(2))
    for place, at in zip(of, (100.0, 100.2), strict=True):
        for _ in range(MOST_FAILURES):
            place.breaker.failed(at)
        place.last_failure = CallError(FailureKind.MALFORMED_REPLY, "half a line")
    with pytest.raises(
        CallError, match=r"not asked: .* failed 5 times in a row, the last: half a line"
    ) as told:
        choose(of, 100.3)
    assert told.value.failure.kind == FailureKind.MALFORMED_REPLY
    assert told.value.retry_after == pytest.approx(100.0 + FIRST_PAUSE_SECONDS - 100.3)


def test_a_further_try_goes_to_the_next() -> None:
    order = ranked(places(*urls(3)), "run/1/0")
    assert [turned(order, tries)[0] for tries in range(4)] == [*order, order[0]]


def test_one_call_tries_a_replica_that_was_ill_and_its_end_decides() -> None:
    breaker = Breaker()
    for _ in range(MOST_FAILURES):
        assert breaker.left(10.0) == 0.0
        breaker.failed(10.0)
    assert breaker.left(10.0) == FIRST_PAUSE_SECONDS
    breaker.ask(11.0)
    assert breaker.left(11.0) > 0, "the others wait for the one that tries"
    breaker.failed(11.1)
    assert breaker.left(11.1) == 2 * FIRST_PAUSE_SECONDS
    breaker.succeeded()
    assert breaker.left(11.1) == 0.0


def test_what_fails_with_a_dying_server_does_not_lengthen_the_pause() -> None:
    """Caught: a restart of three seconds that cost five, since hundreds of calls failed at once."""
    breaker = Breaker()
    for _ in range(300):
        breaker.failed(10.0)
    assert breaker.left(10.0) == FIRST_PAUSE_SECONDS


@given(st.lists(st.sampled_from(["failed", "asked"]), max_size=60))
def test_no_pause_is_longer_than_the_longest(ends: list[str]) -> None:
    breaker, now = Breaker(), 0.0
    for end in ends:
        breaker.failed(now) if end == "failed" else breaker.ask(now)
        assert breaker.left(now) <= LONGEST_PAUSE_SECONDS
        now += 0.1


@pytest.mark.parametrize(
    ("kind", "well"),
    [
        (FailureKind.UPSTREAM_UNAVAILABLE, False),
        (FailureKind.MALFORMED_REPLY, False),
        (FailureKind.RATE_LIMITED, True),
        (FailureKind.INVALID_REQUEST, True),
        (FailureKind.CONTEXT_OVERFLOW, True),
    ],
)
async def test_a_refusal_is_no_illness(kind: FailureKind, well: bool) -> None:
    """Caught: one run's bad requests that cut off the model for all others."""
    replicas = Replicas(ModelSettings.at("http://a/v1", model="m"), "m", LocalLimits())
    for _ in range(MOST_FAILURES):
        with pytest.raises(CallError):
            async with replicas.one_for(call(), 1):
                raise CallError(kind, "no")
    try:
        async with replicas.one_for(call(), 1):
            reached = True
    except CallError:
        reached = False
    assert reached == well


@pytest.mark.parametrize(("patience", "ill"), [(0.01, True), (30.0, False)])
async def test_only_a_tries_own_time_tells_that_a_replica_is_ill(patience: float, ill: bool) -> None:
    """Caught: calls with short deadlines, or of cancelled runs, that cut off a model which is merely slow."""
    settings = ModelSettings.at("http://a/v1", model="m", timeout_seconds=patience)
    replicas = Replicas(settings, "m", LocalLimits())
    for _ in range(MOST_FAILURES):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02), replicas.one_for(call(), 1):
                await asyncio.sleep(1)
    try:
        async with replicas.one_for(call(), 1):
            reached = True
    except CallError as error:
        reached = "no answer within" not in error.failure.message
    assert reached != ill


class Slow(LocalLimits):
    """Limits that take a while to say yes."""

    async def begin(self, ask: Ask) -> Refusal | None:
        await asyncio.sleep(0.01)
        return await super().begin(ask)


async def test_of_those_who_come_together_one_tries_a_replica_that_was_ill(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Caught: all had chosen it before the first had its turn, and each that failed doubled the pause."""
    monkeypatch.setattr(breaker, "FIRST_PAUSE_SECONDS", 0.05)
    replicas = Replicas(ModelSettings.at("http://a/v1", model="m"), "m", Slow())
    tried = 0

    async def fail() -> None:
        nonlocal tried
        async with replicas.one_for(call(), 1):
            tried += 1
            raise CallError(FailureKind.UPSTREAM_UNAVAILABLE, "no")

    for _ in range(MOST_FAILURES):
        with pytest.raises(CallError):
            await fail()
    await asyncio.sleep(0.06)
    ends = await asyncio.gather(*(fail() for _ in range(10)), return_exceptions=True)
    assert tried == MOST_FAILURES + 1
    assert sum("not asked" in str(end) for end in ends) == 9
    assert replicas.places[0].gate.under_way == 0
