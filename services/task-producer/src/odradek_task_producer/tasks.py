"""The tasks of a run, prepared ahead in the background: user code and sealing stay off the event loop."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from odradek_runtime.folds import Post
from odradek_runtime.logs import get_logger
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_task_producer.events import DatasetRejected, TasksPrepared
from odradek_task_producer.rows import PreparedTask

log = get_logger(__name__)

BLOCK = 256
"""Tasks prepared at a time. At most two blocks are held."""


class Tasks(Protocol):
    """The tasks of a run that is being admitted, asked for in ascending order."""

    def __len__(self) -> int: ...

    def get(self, index: int) -> PreparedTask | None:
        """Task `index`; None: it is being prepared, and `TasksPrepared` will be posted."""

    def close(self) -> None:
        """No more tasks are needed."""


class PreparedTasks:
    """Tasks of one run; `prepare` runs in a thread."""

    def __init__(
        self,
        run_id: str,
        count: int,
        prepare: Callable[[int], PreparedTask],
        post: Post,
        timeout_seconds: float,
    ) -> None:
        self._run_id = run_id
        self._count = count
        self._prepare = prepare
        self._post = post
        self._timeout = timeout_seconds
        self._ready: dict[int, PreparedTask] = {}
        self._oldest = 0
        self._next = 0
        self._job: asyncio.Task[None] | None = None
        self._closed = False

    def __len__(self) -> int:
        return self._count

    def get(self, index: int) -> PreparedTask | None:
        self._forget_before(index)
        if self._job is None and self._next < self._count and self._next - index < BLOCK:
            block = range(self._next, min(self._next + BLOCK, self._count))
            self._job = asyncio.create_task(self._prepare_block(block))
        return self._ready.get(index)

    def close(self) -> None:
        self._closed = True
        self._ready.clear()
        if self._job is not None:
            self._job.cancel()

    def _forget_before(self, index: int) -> None:
        if index > self._next:  # the first one asked for after a restore
            self._next = self._oldest = index
        while self._oldest < index:
            self._ready.pop(self._oldest, None)
            self._oldest += 1

    async def _prepare_block(self, block: range) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                prepared = await asyncio.to_thread(self._work, block)
        except Exception as error:  # noqa: BLE001 - the environment's own code: its failure ends the run
            self._closed = True
            self._post(self._rejection(block, error))
        else:
            self._ready.update((task.index, task) for task in prepared)
            self._next = block.stop
            self._job = None
            self._post(TasksPrepared(id=f"{self._run_id}/{block.stop}", run_id=self._run_id))

    def _work(self, block: range) -> list[PreparedTask]:
        prepared = []
        for index in block:
            if self._closed:
                break
            prepared.append(self._prepare(index))
        return prepared

    def _rejection(self, block: range, error: Exception) -> DatasetRejected:
        message = f"tasks {block.start} to {block.stop - 1} can't be prepared: {error!r}"
        log.error("tasks can't be prepared", run_id=self._run_id, exc_info=error)
        failure = Failure(kind=FailureKind.INVALID_DATASET, stage=Stage.PLAN, message=message)
        return DatasetRejected(id=self._run_id, run_id=self._run_id, failure=failure)
