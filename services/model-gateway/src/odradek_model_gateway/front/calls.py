"""From a client's request to an answer that is in the log: each call is made once, whoever asks again."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b

import orjson

from odradek.dialects.core import ChatRequest, Reply
from odradek_model_gateway.front.earlier import EarlierAnswers
from odradek_model_gateway.front.ended import Ended
from odradek_model_gateway.front.live import LiveCall
from odradek_model_gateway.front.programs import Programs
from odradek_model_gateway.front.refusals import ENDED, INTERNAL, MARK_TAKEN, NOT_LOGGED, TOO_MANY, Refusal
from odradek_model_gateway.gateway import Gateway
from odradek_runtime.access import Access
from odradek_runtime.log_writer import LogWriter, NotWrittenError
from odradek_runtime.logs import get_logger
from odradek_schemas.base import JsonObject
from odradek_schemas.events import Asked, ModelCallCompleted, ModelCallFailed, ModelCallRequested
from odradek_schemas.events.base import now
from odradek_schemas.messages import Sampling
from odradek_schemas.topics import MODEL_RESULTS

MOST_UNDER_WAY = 64
"""Calls of one program at once: more is no agent's need."""
STOPPING = "this gateway is being stopped: ask again, another one answers"

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Question:
    """A request as it was read. `mark`: its idempotency key; `again`: the client says that it asks once more."""

    dialect: str
    request: ChatRequest
    digest: str
    streamed: bool
    mark: str | None = None
    again: bool = False


def digest_of(dialect: str, body: JsonObject) -> str:
    """Two requests of one program with the same digest ask the same, however their JSON is written.

    Raises:
        orjson.JSONEncodeError: the body is nested too deep to be written again.
    """
    said = orjson.dumps([dialect, body], option=orjson.OPT_SORT_KEYS)
    return blake2b(said, digest_size=16).hexdigest()


def deadline_of(access: Access) -> datetime:
    """When nobody waits any more for what is asked now."""
    return min(now() + timedelta(seconds=access.model_seconds), access.expires)


class Calls:
    """All calls that come over HTTP to this process."""

    def __init__(self, gateway: Gateway, writer: LogWriter, earlier: EarlierAnswers) -> None:
        self._gateway = gateway
        self._writer = writer
        self._earlier = earlier
        self._programs = Programs()
        self._stopping = False
        self.ended = Ended(self._end)

    def ask(self, access: Access, question: Question) -> LiveCall:
        """The call that answers a question: one that was made already, where the client asks once more, or a new one.

        Raises:
            Refusal: this gateway is being stopped, the program is over or asks too much at once, or its idempotency key
                was used for another question.
        """
        if self._stopping:
            raise Refusal(NOT_LOGGED, STOPPING)
        self.check(access)
        known = self._known(access, question)
        if known is not None:
            return known
        if self._programs.under_way(access) >= MOST_UNDER_WAY:
            raise Refusal(
                TOO_MANY, f"{MOST_UNDER_WAY} calls of {access.program_id} are under way: wait for some"
            )
        call = LiveCall(question.digest, question.mark)
        self._programs.add(access, call)
        call.task = asyncio.create_task(self._run(call, access, question))
        return call

    def check(self, access: Access) -> None:
        """Raises Refusal: the program's access is over."""
        why = self.ended.why(access)
        if why is not None:
            raise Refusal(ENDED, f"{access.program_id} gets no more answers: {why}")

    async def stop(self) -> None:
        """End what is under way, and begin nothing; clients ask another gateway."""
        self._stopping = True
        for call in self._programs.all():
            self._cancel(call, Refusal(NOT_LOGGED, STOPPING))

    def _known(self, access: Access, question: Question) -> LiveCall | None:
        if question.mark is None:
            return self._programs.same(access, question.digest) if question.again else None
        known = self._programs.marked(access, question.mark)
        if known is not None and known.digest != question.digest:
            raise _mark_taken(question.mark)
        return known

    async def _run(self, call: LiveCall, access: Access, question: Question) -> None:
        try:
            call.answer(await self._answer(call, access, question))
        except asyncio.CancelledError:
            call.refuse(Refusal(NOT_LOGGED, STOPPING))  # unless `_cancel` has said why
        except Refusal as refusal:
            call.refuse(refusal)
        except Exception as error:
            call.refuse(Refusal(INTERNAL, f"this call can't be answered: {error!r}"))
            log.error("call can't be answered", program=access.program_id, exc_info=error)

    async def _answer(self, call: LiveCall, access: Access, question: Question) -> Reply:
        if question.mark is not None or question.again:
            earlier = await self._earlier.find(access, question.mark, question.digest)
            if earlier is not None:
                if earlier.asked is None or earlier.asked.digest != question.digest:
                    raise _mark_taken(str(question.mark))
                return _reply(earlier)
        event = requested(access, question, call.id)
        result = await self._gateway.call(event, call.tell if question.streamed else None)
        if isinstance(result, ModelCallFailed):
            await self._log(access, result)
            raise Refusal.of(result.failure)
        await self._log(access, result.model_copy(update={"asked": _asked(event, question)}))
        return _reply(result)

    async def _log(self, access: Access, event: ModelCallCompleted | ModelCallFailed) -> None:
        try:
            await self._writer.write(MODEL_RESULTS.name, event, access.partition)
        except NotWrittenError as error:
            raise Refusal(NOT_LOGGED, f"the answer could not be written to the log: {error}") from error

    def _end(self, name: str, why: str) -> None:
        for call in list(self._programs.under(name)):
            self._cancel(call, Refusal(ENDED, f"{name} gets no more answers: {why}"))
        self._programs.forget(name)

    def _cancel(self, call: LiveCall, refusal: Refusal) -> None:
        call.refuse(refusal)
        if call.task is not None:
            call.task.cancel()


def requested(access: Access, question: Question, name: str) -> ModelCallRequested:
    """The call as an event: what the run wants of its sampling counts, the rest is the program's."""
    wanted = access.sampling.model_dump(exclude_none=True)
    return ModelCallRequested(
        id=f"{access.program_id}/http-{name}",
        run_id=access.run_id,
        rollout_id=access.rollout_id,
        model=access.model,
        messages=question.request.messages,
        tools=question.request.tools,
        sampling=Sampling(**{**question.request.sampling.model_dump(exclude_none=True), **wanted}),
        deadline=deadline_of(access),
    )


def _asked(event: ModelCallRequested, question: Question) -> Asked:
    return Asked(
        dialect=question.dialect,
        messages=event.messages,
        tools=event.tools,
        sampling=event.sampling,
        streamed=question.streamed,
        digest=question.digest,
        mark=question.mark,
    )


def _reply(event: ModelCallCompleted) -> Reply:
    return Reply(event.message, event.finish_reason, event.usage)


def _mark_taken(mark: str) -> Refusal:
    return Refusal(
        MARK_TAKEN, f"idempotency key {mark!r} was used for another request: give each request its own"
    )
