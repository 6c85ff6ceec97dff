"""The work on one partition: each trajectory gets its one reward, and another one from each re-score."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine

from odradek_runtime.errors import CommitFailedError
from odradek_runtime.logs import get_logger
from odradek_runtime.records import Output, Outputs, Record
from odradek_schemas.codec import BlobCorrupt, BlobMissing, RecordError
from odradek_schemas.events import (
    Event,
    JudgingChanged,
    ModelCallCompleted,
    ModelCallFailed,
    RescoreRequested,
    TrajectoryFinished,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.ids import rollout_of, run_of, subject_of
from odradek_schemas.topics import JUDGE_RESULTS, REWARDS, TRAJECTORIES
from odradek_scoring.assigning import unreadable
from odradek_scoring.scoring import PRIMARY
from odradek_verifier_worker.judgings import Judgings
from odradek_verifier_worker.rescores import Rescores

LOOK_SECONDS = 5.0
"""How often it is looked for judges that are overdue."""

log = get_logger(__name__)


class Verifier:
    """A `Handler`. `commit` is its owner's."""

    def __init__(
        self, judgings: Judgings, rescores: Rescores, commit: Callable[[Outputs], Awaitable[None]]
    ) -> None:
        self._judgings = judgings
        self._rescores = rescores
        self._commit = commit
        self._error: BaseException | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._begin(self._expire())

    def restore(self, key: str, event: Event | None) -> None:
        assert event is None or isinstance(event, JudgingChanged)
        self._judgings.restore(key, event)

    async def handle(self, event: Event, record: Record) -> Outputs:
        if self._error is not None:
            raise self._error
        if isinstance(event, TrajectoryFinished):
            return await self._judgings.score(event, record.value, record.coordinates, PRIMARY)
        if isinstance(event, RescoreRequested):
            return await self._rescores.advance(event)
        if isinstance(event, ModelCallCompleted | ModelCallFailed):
            return await self._judgings.hear(event)
        return []

    def reject(self, record: Record, error: RecordError) -> Outputs:
        """A trajectory has its masked reward, a judge's answer counts as a failure; a re-score's piece stays undone."""
        if record.topic == JUDGE_RESULTS.name:
            self._begin(self._hear(_lost_answer(record, error)))
        if record.topic == TRAJECTORIES.name:
            reward = unreadable(record.envelope.rollout_id, error, record.coordinates)
            return [] if reward is None else [Output(REWARDS.name, reward)]
        return []

    def control(self, event: Event) -> None:
        """A cancelled run's rollouts get their (masked) rewards as any other; policies are the gateway's business."""

    async def close(self) -> None:
        """The pool serves all partitions and lives as long as the worker."""
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._judgings.close()

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """What goes wrong beside any record is said at once, and ends the worker at its next one."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("the verifier can't go on", reason=repr(error), exc_info=error)
            self._error = self._error or error

    async def _hear(self, result: ModelCallFailed) -> None:
        await self._commit(await self._judgings.hear(result))

    async def _expire(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for key in self._judgings.overdue():
                try:
                    outputs = await self._judgings.expire(key)
                except CommitFailedError as error:
                    log.warning("an overdue scoring has to wait", scoring=key, reason=str(error))
                else:
                    await self._commit(outputs)


def _lost_answer(record: Record, error: RecordError) -> ModelCallFailed:
    """A judge's answer that can't be read, by what its headers tell."""
    call_id = subject_of(record.envelope.id)
    blob = isinstance(error, BlobMissing | BlobCorrupt)
    kind = FailureKind.BLOB_UNREADABLE if blob else FailureKind.UNREADABLE_RECORD
    return ModelCallFailed(
        id=f"{call_id}/failed",
        run_id=run_of(call_id),
        rollout_id=rollout_of(call_id),
        call_id=call_id,
        failure=Failure(kind=kind, stage=Stage.TRANSPORT, message=str(error)),
    )
