"""The Kafka front end, driven as the concurrent processor drives it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from odradek.models import ModelSettings
from odradek_model_gateway.gateway import Gateway
from odradek_model_gateway.handler import ModelCalls
from odradek_model_gateway.upstream import HttpClient, Upstream
from odradek_runtime.records import Output, Outputs, Record
from odradek_schemas import codec
from odradek_schemas.events import (
    ModelCallCompleted,
    ModelCallFailed,
    ModelCallRequested,
    PolicyUpdated,
    RecordCoordinates,
    RunCancelled,
)
from odradek_schemas.failures import FailureKind, Stage
from odradek_schemas.messages import Message


def request(run: str = "run", number: int = 0) -> ModelCallRequested:
    rollout = f"{run}/{number}/0"
    return ModelCallRequested(
        id=f"{rollout}/1/0",
        run_id=run,
        rollout_id=rollout,
        model="m",
        messages=[Message(role="user", content="hi")],
        deadline=datetime.now(UTC) + timedelta(seconds=30),
    )


def record_of(event: ModelCallRequested) -> Record:
    encoded = codec.encode(event, "test")
    where = RecordCoordinates(topic="model-calls", partition=0, offset=7)
    return Record(
        topic="model-calls",
        partition=0,
        offset=7,
        key=encoded.key,
        value=encoded.value or b"",
        headers=encoded.headers,
        envelope=codec.read_envelope(encoded.headers, where),
    )


def only(outputs: Outputs) -> Any:
    (output,) = outputs
    assert isinstance(output, Output)
    assert output.topic == "model-results"
    assert output.partition is None
    return output.event


@pytest.fixture
async def handler_to(scripted_model: Any) -> AsyncIterator[Callable[[str], ModelCalls]]:
    handlers: list[ModelCalls] = []

    def build(script: str) -> ModelCalls:
        client = HttpClient(connections=8)
        upstream = Upstream(ModelSettings.at(scripted_model.base_url, model=script), client)
        handlers.append(ModelCalls(Gateway({"m": upstream}), client))
        return handlers[-1]

    yield build
    for handler in handlers:
        await handler.close()


def start(handler: ModelCalls, event: ModelCallRequested) -> "asyncio.Task[Outputs]":
    return asyncio.ensure_future(handler.handle(event, record_of(event)))


async def asked(scripted_model: Any, event: ModelCallRequested) -> None:
    """Return when the model has got the call."""
    for _ in range(1000):
        if scripted_model.asked(event.id):
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{event.id} did not reach the model")


async def test_a_request_becomes_a_result(handler_to: Callable[[str], ModelCalls]) -> None:
    event = request()
    result = only(await handler_to("instant").handle(event, record_of(event)))
    assert isinstance(result, ModelCallCompleted)
    assert result.call_id == event.id


async def test_a_repeated_request_in_flight_is_answered_once(
    handler_to: Callable[[str], ModelCalls], scripted_model: Any
) -> None:
    handler, event = handler_to("flaky"), request("twice")
    outputs = await asyncio.gather(start(handler, event), start(handler, event))
    assert sorted(map(len, outputs)) == [0, 1]
    assert scripted_model.asked(event.id) == 2, "one 429 and one answer"


async def test_a_request_repeated_later_is_made_again(handler_to: Callable[[str], ModelCalls]) -> None:
    handler, event = handler_to("instant"), request()
    assert only(await start(handler, event)).id == only(await start(handler, event)).id


async def test_a_cancelled_run_ends_its_calls_and_no_others(
    handler_to: Callable[[str], ModelCalls], scripted_model: Any
) -> None:
    handler = handler_to("slow")
    ours, other = request("gone"), request("kept")
    calls = start(handler, ours), start(handler, other)
    await asked(scripted_model, ours)
    await asked(scripted_model, other)
    handler.control(RunCancelled(id="gone", run_id="gone", reason="enough"))
    result = only(await calls[0])
    assert isinstance(result, ModelCallFailed)
    assert result.failure.kind == FailureKind.RUN_CANCELLED
    assert "enough" in result.failure.message
    assert not calls[1].done()
    calls[1].cancel()
    with pytest.raises(asyncio.CancelledError):
        await calls[1]


async def test_a_call_of_a_run_that_was_cancelled_before_is_not_made(
    handler_to: Callable[[str], ModelCalls], scripted_model: Any
) -> None:
    handler, event = handler_to("instant"), request("cancelled-before")
    handler.control(RunCancelled(id="c", run_id="cancelled-before", reason="enough"))
    result = only(await start(handler, event))
    assert (result.failure.kind, result.tries) == (FailureKind.RUN_CANCELLED, 0)
    assert scripted_model.asked(event.id) == 0


@pytest.mark.parametrize(("scoring", "made"), [("primary", False), ("again", True)])
async def test_a_judge_of_a_re_score_outlives_the_run(
    handler_to: Callable[[str], ModelCalls], scoring: str, made: bool
) -> None:
    handler, event = handler_to("instant"), request("cancelled-judged")
    call_id = f"{event.rollout_id}/judge/{scoring}/0.0"
    handler.control(RunCancelled(id="c", run_id=event.run_id, reason="its time was up"))
    (output,) = await start(handler, event.model_copy(update={"id": call_id}))
    assert isinstance(output, Output)
    assert isinstance(output.event, ModelCallFailed) is not made


async def test_a_task_that_the_processor_cancels_ends(
    handler_to: Callable[[str], ModelCalls], scripted_model: Any
) -> None:
    handler, event = handler_to("slow"), request("drained")
    call = start(handler, event)
    await asked(scripted_model, event)
    handler.control(RunCancelled(id="drained", run_id="drained", reason="enough"))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_results_carry_the_policy_version_of_their_model(
    handler_to: Callable[[str], ModelCalls],
) -> None:
    handler = handler_to("instant")
    handler.control(PolicyUpdated(id="p1", model="m", version="step-3"))
    handler.control(PolicyUpdated(id="p2", model="another", version="step-9"))
    assert only(await start(handler, request())).tokens.policy_version == "step-3"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (codec.InvalidValue, FailureKind.UNREADABLE_RECORD),
        (codec.BlobMissing, FailureKind.BLOB_UNREADABLE),
        (codec.BlobCorrupt, FailureKind.BLOB_UNREADABLE),
    ],
)
async def test_an_unreadable_request_fails_its_call(
    handler_to: Callable[[str], ModelCalls], error: type[codec.RecordError], kind: FailureKind
) -> None:
    event = request()
    record = record_of(event)
    result = only(handler_to("instant").reject(record, error(record.coordinates, "cut short")))
    assert isinstance(result, ModelCallFailed)
    assert (result.id, result.call_id) == (f"{event.id}/failed", event.id)
    assert (result.run_id, result.rollout_id) == (event.run_id, event.rollout_id)
    assert (result.failure.kind, result.failure.stage) == (kind, Stage.TRANSPORT)
    assert "model-calls[0]@7: cut short" in result.failure.message
