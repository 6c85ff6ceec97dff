"""Threads for plain tools. A hop costs some 5 us of CPU under load, an eighth of `asyncio.to_thread`'s:
what has finished is handed back to the event loop many at a time.

A thread can't be killed: one whose tool is still running when nobody waits any more is lost until it returns. When
too many are, `give_up` is called.
"""

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import structlog

log = structlog.get_logger()


class _Job:
    __slots__ = ("begun", "error", "function", "future", "lost", "result")

    def __init__(self, function: Callable[[], Any], future: "asyncio.Future[Any]") -> None:
        self.function = function
        self.future = future
        self.result: Any = None
        self.error: BaseException | None = None
        self.begun = False
        self.lost = False


class ToolThreads:
    """At most `most` threads, started as they are needed. To be used from one event loop."""

    def __init__(self, most: int, most_lost: int, give_up: Callable[[], None]) -> None:
        self._most = most
        self._most_lost = min(most_lost, most)
        self._give_up = give_up
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._finished: deque[_Job] = deque()
        self._delivering = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._threads = 0
        self._unfinished = 0
        self._lost = 0

    @property
    def lost(self) -> int:
        """Threads that are still at a job which nobody waits for."""
        return self._lost

    def run(self, function: Callable[[], Any]) -> Awaitable[Any]:
        """Run `function` in a thread. Cancel the awaitable to stop waiting for it."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        job = _Job(function, self._loop.create_future())
        job.future.add_done_callback(lambda future: self._forsake(job) if future.cancelled() else None)
        self._unfinished += 1
        if self._threads < min(self._unfinished, self._most):
            self._threads += 1
            threading.Thread(target=self._work, name=f"tool-{self._threads}", daemon=True).start()
        self._jobs.put(job)
        return job.future

    def _work(self) -> None:
        """A thread's life. Nothing of a job is held while the next one is waited for."""
        while self._work_off(self._jobs.get()):
            pass

    def _work_off(self, job: _Job) -> bool:
        """Carry out a job; False: nobody is there to take it. What reads like a race is none: a job is put down
        before the flag is read, and the flag taken down before the jobs are picked up."""
        assert self._loop is not None
        job.begun = True
        if not job.future.cancelled():
            _carry_out(job)
        self._finished.append(job)
        if not self._delivering:
            self._delivering = True
            try:
                self._loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:  # the loop is closed: the worker is at its end
                return False
        return True

    def _deliver(self) -> None:
        self._delivering = False
        while self._finished:
            job = self._finished.popleft()
            self._unfinished -= 1
            self._lost -= job.lost
            _hand_over(job)

    def _forsake(self, job: _Job) -> None:
        """Nobody waits for `job` any more. One that has not begun never will, and holds no thread."""
        if not job.begun:
            return
        job.lost = True
        self._lost += 1
        if self._lost >= self._most_lost:
            log.error("too many tools are stuck past their deadline", lost_threads=self._lost)
            self._give_up()


def _hand_over(job: _Job) -> None:
    """Tell whoever waits. The job forgets the error, which knows the frames that know the job: all that a failed
    function held would else wait for the collector of cycles."""
    future, error, result = job.future, job.error, job.result
    del job.future, job.error, job.result
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)


def _carry_out(job: _Job) -> None:
    try:
        job.result = job.function()
    except StopIteration as error:  # no future takes one
        job.error = RuntimeError(f"StopIteration: {error}")
    except BaseException as error:  # noqa: BLE001 - handed to whoever waits, even SystemExit
        job.error = error
