"""What a call counts against, and how much it is taken to need."""

from datetime import UTC, datetime, timedelta
from typing import Any

from odradek.models import ModelSettings
from odradek_model_gateway.limits import LocalLimits
from odradek_model_gateway.quota import FIRST_GUESS_TOKENS, Quota
from odradek_schemas.events import ModelCallRequested
from odradek_schemas.messages import Message, Sampling, Usage


def quota(name: str, **settings: Any) -> Quota:
    return Quota(name, ModelSettings.at("http://a/v1", model="m", **settings), LocalLimits())


def call(text: str = "", **sampling: Any) -> ModelCallRequested:
    return ModelCallRequested(
        id="run/1/0/1/0",
        run_id="run",
        rollout_id="run/1/0",
        model="m",
        messages=[Message(role="user", content=text)],
        sampling=Sampling(**sampling),
        deadline=datetime.now(UTC) + timedelta(seconds=60),
    )


def guess(of: Quota, event: ModelCallRequested) -> int:
    [charge] = of.ask("http://a", 1, event).charges
    return charge.units


def test_a_model_without_rates_is_charged_nothing() -> None:
    assert quota("m").ask("http://a", 7, call()).charges == ()


def test_models_that_name_the_same_limits_are_charged_to_the_same() -> None:
    rates = {"requests_per_minute": 60, "tokens_per_minute": 1000}
    [small, large, alone] = [
        [charge.name for charge in of.ask("http://a", 1, call()).charges]
        for of in (
            quota("small", limits="openai", **rates),
            quota("large", limits="openai", **rates),
            quota("alone", **rates),
        )
    ]
    assert small == large
    assert not {*small} & {*alone}


def test_places_of_models_and_replicas_are_apart() -> None:
    small, large = quota("small", limits="one"), quota("large", limits="one")
    places = {of.ask(url, 1, call()).place for of in (small, large) for url in ("http://a", "http://b")}
    assert len(places) == 4


def test_a_guess_is_of_the_prompts_length_and_of_what_replies_took_lately() -> None:
    of = quota("m", tokens_per_minute=10**6)
    short, long = guess(of, call("x")), guess(of, call("x" * 4001))
    assert long - short == 1000
    assert short >= FIRST_GUESS_TOKENS
    assert guess(of, call("x", max_tokens=5)) == short - FIRST_GUESS_TOKENS + 5
    for _ in range(100):
        of.used(of.ask("http://a", 1, call()), Usage(prompt_tokens=1, completion_tokens=2000))
    assert guess(of, call("x")) - short > 1700


def test_where_no_tokens_are_told_the_guess_stands() -> None:
    of = quota("m", tokens_per_minute=10**6)
    silent, told = of.ask("http://a", 1, call()), of.ask("http://a", 1, call())
    of.used(silent, Usage())
    of.used(told, Usage(prompt_tokens=3, completion_tokens=4))
    assert (silent.tokens, told.tokens) == (None, 7)
