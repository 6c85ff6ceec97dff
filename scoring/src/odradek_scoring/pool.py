"""A pool of verifier processes that can be killed.

Jobs go to the processes in batches, because a hop to another process costs more than a cheap verification. When a
process is lost, the job it was at is to blame and the others of its batch run again elsewhere (`verify` is pure).
A job that overran its deadline is judged at once. One whose process died gets a second chance in a fresh process:
the killer may have come from outside.

A job that takes long does not hold up the others: what waits behind it goes back to the queue, and a helper, one more
process, works until none is held up.
"""

import asyncio
import time
from collections import deque
from dataclasses import dataclass

import structlog
from pydantic_core import to_json

from odradek_runtime.faults import reach
from odradek_schemas.events import VerifierIdentity
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_scoring.exchange import Job, Verdict
from odradek_scoring.process import Bounds, ProcessLost, VerifierProcess

_MOST_JOBS = 128
_MOST_BYTES = 8 << 20
_BATCH_SECONDS = 0.05
"""A batch holds about so much work: enough to hide the hop, little enough to share among processes."""
_SLOW_SECONDS = 1.0
_MOST_HELPERS = 2
_START_TRIES = 3
_MOST_DEATHS = 2

log = structlog.get_logger()


class PoolError(Exception):
    """No verifier process comes up on this machine."""


@dataclass(slots=True, eq=False)
class _Case:
    """A job on its way to a verdict. `places` counts the queue and the batches that hold it."""

    job: Job
    verdict: asyncio.Future[Verdict]
    places: int = 1
    deaths: int = 0


class Pool:
    """`processes` verifier processes, helpers when they are stuck, and one process in reserve.

    Starts at the first job, in the running event loop.
    """

    def __init__(self, processes: int, bounds: Bounds) -> None:
        self._processes = processes
        self._bounds = bounds
        self._waiting: deque[_Case] = deque()
        self._arrived = asyncio.Event()
        self._verifiers: dict[tuple[str, bytes], VerifierIdentity] = {}
        self._lanes: set[asyncio.Task[None]] = set()
        self._held_up: set[int] = set()
        self._spare: asyncio.Task[VerifierProcess] | None = None
        self._error: BaseException | None = None

    async def verify(self, job: Job) -> Verdict:
        """Run one job; its end is bounded by the deadlines of those before it and its own.

        Raises:
            PoolError: verifier processes don't start.
        """
        return await self.submit(job)

    def submit(self, job: Job) -> "asyncio.Future[Verdict]":
        """Put a job into the queue; the future raises what `verify` does."""
        if self._error is not None:
            raise PoolError(str(self._error)) from self._error
        if not self._lanes:
            for _ in range(self._processes):
                self._open_lane(helper=False)
        case = _Case(job, asyncio.get_running_loop().create_future())
        self._waiting.append(case)
        self._arrived.set()
        return case.verdict

    async def close(self) -> None:
        """End all processes; jobs without a verdict are cancelled."""
        lanes = list(self._lanes)
        for lane in lanes:
            lane.cancel()
        await asyncio.gather(*lanes, return_exceptions=True)
        for case in self._waiting:
            case.verdict.cancel()
        if self._spare is not None:
            await _dismiss(self._spare)
        self._spare = None

    async def _work(self, helper: bool) -> None:
        """One lane: a process, and another when it is lost. A helper's ends when no lane is held up any more."""
        process = await self._recruit()
        pace = _Pace()
        try:
            while self._held_up or self._waiting or not helper:
                batch = await self._next(pace.jobs)
                began = time.monotonic()
                relief = asyncio.get_running_loop().call_later(_SLOW_SECONDS, self._relieve, batch, process)
                try:
                    async for verdicts in process.run([case.job for case in batch]):
                        self._settle(batch, verdicts)
                    pace.ran(len(batch), time.monotonic() - began)
                except ProcessLost as lost:
                    self._lose(batch, lost)
                    process = await self._recruit()
                finally:
                    relief.cancel()
                    self._held_up.discard(id(batch))
                    self._put_back(batch)
                self._reserve()
        finally:
            await process.end()

    async def _next(self, most: int) -> list[_Case]:
        """The next batch: up to `most` jobs."""
        batch: list[_Case] = []
        size = 0
        while not batch:
            await self._arrived.wait()
            while self._waiting and len(batch) < most and size < _MOST_BYTES:
                case = self._waiting.popleft()
                if case.verdict.done():
                    case.places -= 1
                    continue
                batch.append(case)
                size += len(case.job.event)
            if not self._waiting:
                self._arrived.clear()
        return batch

    def _settle(self, batch: list[_Case], verdicts: dict[int, Verdict]) -> None:
        reach("verify.answered")
        for index, verdict in verdicts.items():
            case = batch[index]
            if verdict.verifier is not None:
                self._verifiers[_verifier_of(case.job)] = verdict.verifier
            if not case.verdict.done():
                case.verdict.set_result(verdict)

    def _put_back(self, batch: list[_Case]) -> None:
        """Jobs without a verdict that are nowhere else go back to the head of the queue."""
        for case in reversed(batch):
            case.places -= 1
            if not case.places and not case.verdict.done():
                self._queue(case)

    def _relieve(self, batch: list[_Case], process: VerifierProcess) -> None:
        """The batch takes long: have what waits behind its present job done by others, who may well be faster."""
        self._held_up.add(id(batch))
        at = process.at
        for index, case in reversed(list(enumerate(batch))):
            if index != at and not case.verdict.done():
                self._queue(case)
        if len(self._lanes) < self._processes + _MOST_HELPERS:
            self._open_lane(helper=True)

    def _queue(self, case: _Case) -> None:
        case.places += 1
        self._waiting.appendleft(case)
        self._arrived.set()

    def _lose(self, batch: list[_Case], lost: ProcessLost) -> None:
        """Judge whom the loss of a process is due to: the job it was at, or any of them when it was at none."""
        suspects = batch if lost.index is None else [batch[lost.index]]
        log.warning("verifier process lost", reason=str(lost), suspects=len(suspects), batch=len(batch))
        for case in suspects:
            case.deaths += 1
            if case.verdict.done():
                continue
            if lost.overdue and lost.index is not None:
                case.verdict.set_result(self._lost(case, FailureKind.VERIFIER_DEADLINE, str(lost)))
            elif case.deaths >= _MOST_DEATHS:
                case.verdict.set_result(self._lost(case, FailureKind.VERIFIER_KILLED, str(lost)))

    def _lost(self, case: _Case, kind: FailureKind, reason: str) -> Verdict:
        name = case.job.environment
        failure = Failure(kind=kind, stage=Stage.VERIFY, message=f"verifying with {name!r}: {reason}")
        return Verdict(failure=failure, verifier=self._verifiers.get(_verifier_of(case.job)))

    async def _recruit(self) -> VerifierProcess:
        """The process in reserve, or a new one.

        Raises:
            PoolError: processes keep failing to start.
        """
        reason: Exception | None = None
        for _ in range(_START_TRIES):
            reserve, self._spare = self._spare or self._start(), None
            try:
                if (process := await reserve).alive:
                    return process
            except (ProcessLost, OSError) as error:
                log.warning("verifier process did not start", reason=str(error))
                reason = error
        raise PoolError(f"verifier processes don't start ({_START_TRIES} tries): {reason}") from reason

    def _reserve(self) -> None:
        """Have the next process at hand, with what is verified here already loaded."""
        if self._spare is None:
            self._spare = self._start()

    def _start(self) -> asyncio.Task[VerifierProcess]:
        return asyncio.create_task(
            VerifierProcess.start(self._bounds, sorted({name for name, _settings in self._verifiers}))
        )

    def _open_lane(self, helper: bool) -> None:
        lane = asyncio.create_task(self._work(helper))
        self._lanes.add(lane)
        lane.add_done_callback(self._lane_ended)

    def _lane_ended(self, lane: asyncio.Task[None]) -> None:
        """A lane ends when its work is done, or by an error that all who wait must hear of."""
        self._lanes.discard(lane)
        if lane.cancelled() or (error := lane.exception()) is None:
            return
        self._error = error
        for case in self._waiting:
            if not case.verdict.done():
                case.verdict.set_exception(PoolError(str(error)))


def _verifier_of(job: Job) -> tuple[str, bytes]:
    """Settings are a part of what scores."""
    return job.environment, to_json(job.settings)


class _Pace:
    """How many jobs make a batch, from how long the last ones took."""

    def __init__(self) -> None:
        self._seconds = _BATCH_SECONDS / 8

    def ran(self, jobs: int, seconds: float) -> None:
        self._seconds += 0.3 * (seconds / jobs - self._seconds)

    @property
    def jobs(self) -> int:
        return max(1, min(_MOST_JOBS, int(_BATCH_SECONDS / self._seconds)))


async def _dismiss(reserve: asyncio.Task[VerifierProcess]) -> None:
    reserve.cancel()
    try:
        process = await reserve
    except (ProcessLost, OSError, asyncio.CancelledError):
        return
    await process.end()
