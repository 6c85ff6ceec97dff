"""The core: one call in, its completion or its typed failure out, whatever the front end."""

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from odradek.dialects.core import Reply
from odradek.dialects.deltas import Delta, deltas_of
from odradek.models import Price, cost
from odradek_model_gateway import json_tools
from odradek_model_gateway.failures import CallError
from odradek_model_gateway.metrics import GatewayMetrics
from odradek_model_gateway.replies import Tell
from odradek_model_gateway.requests import write_body
from odradek_model_gateway.retries import Wait, decide
from odradek_model_gateway.upstream import Upstream
from odradek_runtime.faults import reach
from odradek_schemas.events import ModelCallCompleted, ModelCallFailed, ModelCallRequested
from odradek_schemas.failures import Failure, FailureKind
from odradek_schemas.messages import TokenRecord


@dataclass(slots=True)
class _Progress:
    """How far a call is: what a failure must tell.

    `tell` is who listens to the pieces, if anybody does; what was told can't be taken back, so no try follows.
    """

    tell: Tell | None = None
    tries: int = 0
    told: bool = False

    def add(self, delta: Delta) -> None:
        self.told = True
        if self.tell is not None:
            self.tell(delta)


class Gateway:
    """Answers calls from the upstreams. `policies` are the versions of models that trainers announced."""

    def __init__(self, upstreams: Mapping[str, Upstream]) -> None:
        self._upstreams = upstreams
        self.metrics = GatewayMetrics(upstreams)
        self.policies: dict[str, str] = {}

    async def call(
        self, event: ModelCallRequested, tell: Tell | None = None
    ) -> ModelCallCompleted | ModelCallFailed:
        """Ask the model, again where that helps, until the deadline. Never raises but for cancellation.

        `tell`: the reply is asked for piece by piece, and each is told as it comes.
        Cancelling it closes the connection, by which upstreams know that nobody waits any more.
        """
        progress, began = _Progress(tell), time.perf_counter()
        result: ModelCallCompleted | ModelCallFailed
        try:
            result = await self._ask(event, progress)
        except CallError as error:
            result = failed(event, error.failure, progress.tries)
        self.metrics.called(event.model, result, time.perf_counter() - began)
        return result

    async def _ask(self, event: ModelCallRequested, progress: _Progress) -> ModelCallCompleted:
        upstream = self.find(event.model)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + event.deadline.timestamp() - time.time()
        if deadline <= loop.time():
            raise CallError(
                FailureKind.MODEL_DEADLINE, "the call's deadline had passed before it could be made"
            )
        streamed = progress.tell is not None and upstream.settings.tool_calls == "native"
        body = write_body(event, upstream.settings, streamed)
        while True:
            progress.tries += 1
            try:
                reply = await self._try(event, upstream, body, progress, deadline, streamed)
                self.metrics.tried(event.model)
                return reply
            except CallError as error:
                self.metrics.tried(event.model, error.failure.kind.value)
                if progress.told:
                    raise
                left = deadline - loop.time()
                await asyncio.sleep(_wait(error, progress.tries, upstream.settings.tries, left))

    async def _try(
        self,
        event: ModelCallRequested,
        upstream: Upstream,
        body: bytes,
        progress: _Progress,
        deadline: float,
        streamed: bool,
    ) -> ModelCallCompleted:
        loop = asyncio.get_running_loop()
        policy, started = self.policies.get(event.model), loop.time()
        try:
            async with asyncio.timeout_at(deadline) as whole:
                if streamed:
                    reply = await upstream.stream(body, event, progress.tries, progress.add)
                else:
                    reply = await upstream.post(body, event, progress.tries)
            reach("call.answered")
        except TimeoutError as error:
            took = loop.time() - started if whole.expired() else upstream.settings.timeout_seconds
            raise _timed_out(not whole.expired(), took) from error
        reply = _with_policy(reply, policy)
        if upstream.settings.tool_calls == "json_schema":
            offer = json_tools.Offer.of(event.tools, event.sampling.tool_choice)
            message, finish_reason = json_tools.read_reply(
                reply.message, reply.finish_reason, event.id, offer
            )
            reply = replace(reply, message=message, finish_reason=finish_reason)
        if progress.tell is not None and not streamed:
            for delta in deltas_of(reply):
                progress.add(delta)
        took = 1000 * (loop.time() - started)
        return _completed(event, reply, took, progress.tries, upstream.settings.price)

    def find(self, model: str) -> Upstream:
        """The upstream of `model`. Raises CallError: there is none (unknown_model)."""
        upstream = self._upstreams.get(model)
        if upstream is None:
            known = ", ".join(sorted(self._upstreams))
            raise CallError(
                FailureKind.UNKNOWN_MODEL,
                f"model {model!r} is not in ODRADEK_MODELS of the model gateway, which has {known}",
            )
        return upstream


def failed(event: ModelCallRequested, failure: Failure, tries: int) -> ModelCallFailed:
    """The failure of a call as an event."""
    return ModelCallFailed(
        id=f"{event.id}/failed",
        run_id=event.run_id,
        rollout_id=event.rollout_id,
        call_id=event.id,
        failure=failure,
        tries=tries,
    )


def _completed(
    event: ModelCallRequested, reply: Reply, latency_ms: float, tries: int, price: Price | None
) -> ModelCallCompleted:
    return ModelCallCompleted(
        id=f"{event.id}/completed",
        run_id=event.run_id,
        rollout_id=event.rollout_id,
        call_id=event.id,
        model=event.model,
        message=reply.message,
        finish_reason=reply.finish_reason,
        usage=reply.usage,
        latency_ms=latency_ms,
        tries=tries,
        tokens=reply.tokens,
        cost=cost(reply.usage, price) if price else None,
    )


def _with_policy(reply: Reply, version: str | None) -> Reply:
    if version is None:
        return reply
    tokens = reply.tokens or TokenRecord()
    return replace(reply, tokens=tokens.model_copy(update={"policy_version": version}))


def _wait(error: CallError, tries: int, most_tries: int, left: float) -> float:
    """Seconds until the next try; raises `error`, with the reason, when there is none."""
    decision = decide(tries, most_tries, error.retried, error.retry_after, left, random.random())
    if isinstance(decision, Wait):
        return decision.seconds
    if not error.retried:
        raise error
    raise CallError(error.failure.kind, f"{error.failure.message} (gave up: {decision.reason})") from error


def _timed_out(before_deadline: bool, seconds: float) -> CallError:
    if before_deadline:
        return CallError(
            FailureKind.UPSTREAM_UNAVAILABLE,
            f"no answer within {seconds:.1f} s (timeout_seconds of the model)",
        )
    return CallError(
        FailureKind.MODEL_DEADLINE, f"the call's deadline passed after {seconds:.1f} s of this try"
    )
