"""What a model gateway tells Prometheus: of real calls to a real HTTP server, and of its replicas."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from odradek.models import ModelSettings
from odradek_model_gateway.breaker import MOST_FAILURES
from odradek_model_gateway.gateway import Gateway
from odradek_model_gateway.upstream import HttpClient, Upstream
from odradek_schemas.events import ModelCallCompleted, ModelCallRequested
from odradek_schemas.messages import Message

pytestmark = pytest.mark.usefixtures("quick_retries")

Value = Callable[..., float | None]
_numbers = count()


def request(model: str = "m") -> ModelCallRequested:
    rollout = f"metrics/{next(_numbers)}/0"
    return ModelCallRequested(
        id=f"{rollout}/1/0",
        run_id="metrics",
        rollout_id=rollout,
        model=model,
        messages=[Message(role="user", content="Which? A: this B: that")],
        deadline=datetime.now(UTC) + timedelta(seconds=30),
    )


@pytest.fixture
def gateway_to(scripted_model: Any, client: HttpClient) -> Callable[..., tuple[Gateway, Value]]:
    def build(script: str, **settings: Any) -> tuple[Gateway, Value]:
        given = {"base_url": scripted_model.base_url, "model": script, **settings}
        gateway = Gateway({"m": Upstream(ModelSettings(**given), client)})
        registry = CollectorRegistry()
        for collector in gateway.metrics.collectors():
            registry.register(collector)
        return gateway, lambda name, **labels: registry.get_sample_value(name, labels)

    return build


async def test_a_call_its_tokens_its_time_and_its_cost(gateway_to: Any) -> None:
    price = {"input": 1e6, "output": 0.0}
    gateway, value = gateway_to("instant", price=price)
    assert value("odradek_model_calls_total", model="m", outcome="auth") == 0, "the first is an increase, too"
    result = await gateway.call(request())
    assert isinstance(result, ModelCallCompleted)
    assert value("odradek_model_calls_total", model="m", outcome="answered") == 1
    assert value("odradek_model_call_seconds_count", model="m") == 1
    assert value("odradek_model_tokens_total", model="m", kind="prompt") == result.usage.prompt_tokens > 0
    assert value("odradek_model_tokens_total", model="m", kind="completion") == result.usage.completion_tokens
    assert value("odradek_model_cost_dollars_total", model="m") == result.usage.prompt_tokens


async def test_a_retried_call_is_one_call_of_several_tries(gateway_to: Any) -> None:
    gateway, value = gateway_to("flaky")
    result = await gateway.call(request())
    assert isinstance(result, ModelCallCompleted)
    assert value("odradek_model_calls_total", model="m", outcome="answered") == 1
    assert value("odradek_model_tries_total", model="m", outcome="answered") == 1
    assert value("odradek_model_tries_total", model="m", outcome="rate_limited") == result.tries - 1 > 0


async def test_names_that_events_make_up_are_one_series(gateway_to: Any) -> None:
    gateway, value = gateway_to("instant")
    for name in ("x", "y", "z"):
        await gateway.call(request(name))
    assert value("odradek_model_calls_total", model="unknown", outcome="unknown_model") == 3


async def test_a_replica_that_is_left_alone_is_told(gateway_to: Any) -> None:
    gateway, value = gateway_to("instant", base_url="http://127.0.0.1:9/v1", tries=1, max_concurrency=7)
    assert value("odradek_replica_open", model="m", replica="0") == 0
    assert value("odradek_replica_limit_calls", model="m", replica="0") == 7
    for _ in range(MOST_FAILURES):
        await gateway.call(request())
    assert value("odradek_replica_open", model="m", replica="0") == 1
    assert value("odradek_model_calls_total", model="m", outcome="upstream_unavailable") == MOST_FAILURES


async def test_who_waits_for_a_rate_is_told(gateway_to: Any) -> None:
    """A limit of one call a minute: the second waits, and nobody may begin."""
    gateway, value = gateway_to("instant", requests_per_minute=1)
    waiting = [asyncio.create_task(gateway.call(request())) for _ in range(3)]
    try:
        done, _ = await asyncio.wait(waiting, timeout=10, return_when=asyncio.FIRST_COMPLETED)
        assert len(done) == 1
        assert value("odradek_replica_limited", model="m", replica="0") == 1
        assert (value("odradek_replica_waiting_calls", model="m", replica="0") or 0) >= 1
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
    assert value("odradek_replica_waiting_calls", model="m", replica="0") == 0
    assert value("odradek_replica_calls", model="m", replica="0") == 0
