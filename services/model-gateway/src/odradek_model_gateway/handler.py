"""The front end for Kafka: `model-calls` in, `model-results` out, and `judge-results` for what verifiers ask."""

import asyncio
from dataclasses import dataclass

from odradek_model_gateway.gateway import Gateway, failed
from odradek_model_gateway.upstream import HttpClient
from odradek_runtime.records import Output, Outputs, Record
from odradek_schemas.codec import BlobCorrupt, BlobMissing, RecordError
from odradek_schemas.events import Event, ModelCallFailed, ModelCallRequested, PolicyUpdated, RunCancelled
from odradek_schemas.events.results import PRIMARY_SCORING
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.ids import is_judge_call, rollout_of, run_of, scoring_of
from odradek_schemas.topics import JUDGE_RESULTS, MODEL_RESULTS


@dataclass(slots=True)
class _Flight:
    """A call that is being made, and the task that makes it."""

    task: "asyncio.Task[object]"
    run_id: str | None
    cancelled: bool = False


class ModelCalls:
    """The calls of one partition. Implements `odradek_runtime.handlers.Handler`."""

    def __init__(self, gateway: Gateway, client: HttpClient) -> None:
        self._gateway = gateway
        self._client = client
        self._client.join()
        self._flights: dict[str, _Flight] = {}
        self._cancelled: dict[str, str] = {}

    def restore(self, key: str, event: Event | None) -> None:
        raise AssertionError("the model gateway has no changelog")

    async def handle(self, event: Event, record: Record) -> Outputs:
        """Make the call. A second request for one that is in flight is answered by the first."""
        assert isinstance(event, ModelCallRequested)
        if event.id in self._flights:
            return []
        run_id = _run_of(event)
        if run_id in self._cancelled:
            return _result(failed(event, self._cancellation(event), 0))
        task = asyncio.current_task()
        assert task is not None
        flight = self._flights[event.id] = _Flight(task, run_id)
        try:
            return _result(await self._gateway.call(event))
        except asyncio.CancelledError:
            # The processor may have cancelled the task too: then it must end.
            if not flight.cancelled or task.uncancel():
                raise
            return _result(failed(event, self._cancellation(event), 0))
        finally:
            del self._flights[event.id]

    def reject(self, record: Record, error: RecordError) -> Outputs:
        envelope = record.envelope
        if envelope.type != "ModelCallRequested":
            return []
        lost = isinstance(error, BlobMissing | BlobCorrupt)
        failure = Failure(
            kind=FailureKind.BLOB_UNREADABLE if lost else FailureKind.UNREADABLE_RECORD,
            stage=Stage.TRANSPORT,
            message=str(error),
        )
        event = ModelCallFailed(
            id=f"{envelope.id}/failed",
            run_id=envelope.run_id or run_of(envelope.id),
            rollout_id=envelope.rollout_id or rollout_of(envelope.id),
            call_id=envelope.id,
            failure=failure,
        )
        return _result(event)

    def control(self, event: Event) -> None:
        if isinstance(event, PolicyUpdated):
            self._gateway.policies[event.model] = event.version
        elif isinstance(event, RunCancelled):
            self._cancel(event)

    async def close(self) -> None:
        await self._client.leave()

    def _cancel(self, event: RunCancelled) -> None:
        self._cancelled[event.run_id] = event.reason
        for flight in self._flights.values():
            if flight.run_id == event.run_id and not flight.cancelled:
                flight.cancelled = True
                flight.task.cancel()

    def _cancellation(self, event: ModelCallRequested) -> Failure:
        message = f"run {event.run_id} was cancelled: {self._cancelled[event.run_id]}"
        return Failure(kind=FailureKind.RUN_CANCELLED, stage=Stage.MODEL, message=message)


def _run_of(event: ModelCallRequested) -> str | None:
    """The run with which the call ends; None: it is a re-score's, which may come long after the run."""
    return event.run_id if scoring_of(event.id) in (None, PRIMARY_SCORING) else None


def _result(event: Event) -> Outputs:
    topic = JUDGE_RESULTS if is_judge_call(event.id) else MODEL_RESULTS
    return [Output(topic.name, event)]
