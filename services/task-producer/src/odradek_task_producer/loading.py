"""The background job of a run: its environment, its data set, and the check of every row."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import BinaryIO, Protocol

from odradek.environment import Environment
from odradek.plugins import PluginError, UnknownPlugin, load_environment
from odradek_runtime.blobs import BlobError, BlobStore
from odradek_runtime.folds import Post
from odradek_runtime.logs import get_logger
from odradek_schemas.base import JsonObject
from odradek_schemas.events import RunRequested
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_task_producer.datasets import Checked, Dataset, DatasetError, Stopped, check, fetch
from odradek_task_producer.events import DatasetLoaded, DatasetRejected
from odradek_task_producer.rows import Seal, prepare
from odradek_task_producer.settings import ProducerSettings
from odradek_task_producer.tasks import PreparedTasks

log = get_logger(__name__)

FETCH_ATTEMPTS = 5
FIRST_BACKOFF_SECONDS = 0.5


class Job(Protocol):
    """Work under way."""

    def cancel(self) -> object:
        """Nobody waits for it any more."""


class Loader(Protocol):
    """Loads data sets in the background."""

    def load(self, request: RunRequested, post: Post) -> Job:
        """Start loading; `DatasetLoaded` or `DatasetRejected` will be posted, within a deadline."""


class Rejected(Exception):
    """The run can't be played; carries what its `RunFinished` will say."""

    def __init__(self, kind: FailureKind, message: str, checked: Checked | None = None) -> None:
        super().__init__(message)
        self.failure = Failure(kind=kind, stage=Stage.PLAN, message=message)
        self.bad_rows = checked.bad_rows if checked else []


class LoadJob:
    """One run being loaded. Its thread ends at the next row once the job is cancelled."""

    def __init__(self, work: Callable[["LoadJob"], Awaitable[None]]) -> None:
        self.stopped = False
        self._task = asyncio.ensure_future(work(self))

    def cancel(self) -> None:
        self.stopped = True
        self._task.cancel()


class DatasetLoader:
    """Loads data sets by reference for the environments that are installed."""

    def __init__(
        self,
        blobs: BlobStore,
        seal: Seal,
        settings: ProducerSettings,
        find_environment: Callable[[str, JsonObject], Environment] = load_environment,
    ) -> None:
        self._blobs = blobs
        self._seal = seal
        self._settings = settings
        self._find_environment = find_environment

    def load(self, request: RunRequested, post: Post) -> Job:
        return LoadJob(lambda job: self._run(request, post, job))

    async def _run(self, request: RunRequested, post: Post, job: LoadJob) -> None:
        try:
            async with asyncio.timeout(self._settings.dataset_timeout_seconds):
                tasks = await self._tasks(request, post, job)
            post(DatasetLoaded(id=request.run_id, run_id=request.run_id, tasks=tasks))
        except Exception as error:  # noqa: BLE001 - whatever it is ends the run with a reason
            job.stopped = True
            rejected = self._explain(request, error)
            post(
                DatasetRejected(
                    id=request.run_id,
                    run_id=request.run_id,
                    failure=rejected.failure,
                    bad_rows=rejected.bad_rows,
                )
            )

    async def _tasks(self, request: RunRequested, post: Post, job: LoadJob) -> PreparedTasks:
        environment = await asyncio.to_thread(self._find_environment, request.environment, request.settings)
        file = await self._fetch(request.dataset.uri)
        dataset = await asyncio.to_thread(Dataset, file, request.limit)
        checked = await asyncio.to_thread(
            check, dataset, environment, self._settings.bad_rows_reported, lambda: job.stopped
        )
        _refuse_bad_rows(request, checked)
        return PreparedTasks(
            request.run_id,
            len(dataset),
            lambda index: prepare(environment, request, self._seal, index, dataset.line(index)),
            post,
            self._settings.prepare_timeout_seconds,
        )

    async def _fetch(self, uri: str) -> BinaryIO:
        """A store that can't be reached may be back in a moment; a blob that is not there will not."""
        for attempt in range(FETCH_ATTEMPTS):
            try:
                return await fetch(uri, self._blobs)
            except OSError as error:
                if attempt == FETCH_ATTEMPTS - 1:
                    raise
                log.warning("the data set can't be fetched, trying again", uri=uri, error=str(error))
                await asyncio.sleep(FIRST_BACKOFF_SECONDS * 2**attempt)
        raise AssertionError("unreachable")

    def _explain(self, request: RunRequested, error: Exception) -> Rejected:
        """What a person and a dashboard are told of `error`."""
        if isinstance(error, Rejected):
            return error
        if isinstance(error, UnknownPlugin):
            return Rejected(FailureKind.UNKNOWN_ENVIRONMENT, str(error))
        if isinstance(error, PluginError):
            return Rejected(FailureKind.ENVIRONMENT_ERROR, str(error))
        if isinstance(error, DatasetError):
            return Rejected(FailureKind.INVALID_DATASET, str(error))
        if isinstance(error, BlobError | OSError) and not isinstance(error, TimeoutError):
            return Rejected(FailureKind.BLOB_UNREADABLE, f"data set {request.dataset.name}: {error}")
        if isinstance(error, TimeoutError | Stopped):
            seconds = self._settings.dataset_timeout_seconds
            reason = f"data set {request.dataset.name} was not fetched and checked within {seconds:g} s"
            return Rejected(FailureKind.INVALID_DATASET, reason)
        log.error("a data set can't be loaded", run_id=request.run_id, exc_info=error)
        return Rejected(FailureKind.INVALID_DATASET, f"data set {request.dataset.name}: {error!r}")


def _refuse_bad_rows(request: RunRequested, checked: Checked) -> None:
    name = request.dataset.name
    if checked.bad:
        first = checked.bad_rows[0]
        raise Rejected(
            FailureKind.INVALID_DATASET,
            f"{checked.bad} of {checked.rows} rows of {name} can't be used; the first: line {first.line}, "
            f"{first.field or 'the row'}: {first.reason}",
            checked,
        )
    if checked.rows == 0:
        raise Rejected(FailureKind.INVALID_DATASET, f"data set {name} holds no tasks")
