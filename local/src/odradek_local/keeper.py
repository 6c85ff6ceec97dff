"""Keeps the parts of a stack: starts them in order, restarts what dies, stops them in reverse order."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from odradek_local.process import ProcessError
from odradek_local.restarts import RestartBudget
from odradek_local.stack import Part
from odradek_local.state import PartState, PartStatus, StackState, Status

HEALTHY_WITHIN_S = 90.0

log = logging.getLogger(__name__)


class Keeper:
    """Keeps parts running; `write` is called with each change of the state."""

    def __init__(self, state: StackState, write: Callable[[StackState], None]):
        self.state = state
        self._write = write
        self._layers: list[list[Part]] = []
        self._keeping: dict[str, asyncio.Task[None]] = {}
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def report(self) -> None:
        """The state has changed."""
        self._write(self.state)

    async def bring_up(self, parts: Sequence[Part]) -> None:
        """Starts these parts at once and waits until all are healthy; raises ProcessError, JarError."""
        self._layers.append([*parts])
        for part in parts:
            self._start(part)
        await asyncio.gather(*(self._until_healthy(part) for part in parts))

    async def keep(self) -> None:
        """Restarts each part that ends, until cancelled."""
        self._enter(Status.HEALTHY)
        for layer in self._layers:
            for part in layer:
                self._begin_to_keep(part)
        await self._broken  # were every part to fail: the state says so, and `down` ends it

    async def add(self, part: Part) -> None:
        """Starts one more part of the layer that was started last, and keeps it.

        Raises ProcessError when it does not become healthy; it is then not there any more.
        """
        self._layers[-1].append(part)
        try:
            self._start(part)
            await self._until_healthy(part)
        except BaseException:
            await self._end(part)
            raise
        self._begin_to_keep(part)

    async def remove(self, part: Part) -> None:
        """Lets one part end in order, and keeps it no longer."""
        keeping = self._keeping.pop(part.name, None)
        if keeping is not None:
            keeping.cancel()
            await asyncio.wait({keeping})
        self._part(part).status = PartStatus.STOPPING
        self.report()
        await self._end(part)
        self._recover()

    def replicas(self, pool: str) -> list[Part]:
        """The parts that are replicas of a service, in the order in which they were started."""
        return [part for layer in self._layers for part in layer if part.pool == pool]

    async def stop(self) -> None:
        """Stops all parts, those started last first."""
        self._enter(Status.STOPPING)
        for keeping in self._keeping.values():
            keeping.cancel()
        for layer in reversed(self._layers):
            await asyncio.gather(*(asyncio.to_thread(part.stop) for part in layer))
        self.state.parts.clear()
        self._enter(Status.FAILED if self.state.error else Status.STOPPED)

    def fail(self, error: Exception) -> None:
        """Notes why the stack can't be."""
        self.state.error = str(error)
        log.error("%s", error)

    def _start(self, part: Part) -> None:
        part.start()
        log.info("%s started: pid %d, port %d", part.name, part.process.pid, part.port)
        self.state.parts.append(_starting(part))
        self.report()

    async def _end(self, part: Part) -> None:
        """Stops a part, and forgets it."""
        await asyncio.to_thread(part.stop)
        for layer in self._layers:
            if part in layer:
                layer.remove(part)
        self.state.parts = [state for state in self.state.parts if state.name != part.name]
        self.report()
        log.info("%s stopped", part.name)

    def _begin_to_keep(self, part: Part) -> None:
        if part.name in self._keeping:
            return
        task = asyncio.create_task(self._keep(part))
        self._keeping[part.name] = task
        task.add_done_callback(self._note_broken)

    def _note_broken(self, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._broken.done():
            self._broken.set_exception(error)

    def _recover(self) -> None:
        """A stack is well again when the part that was given up has been taken out of it."""
        failed = any(state.status is PartStatus.FAILED for state in self.state.parts)
        if self.state.status is Status.DEGRADED and not failed:
            self.state.error = None
            self._enter(Status.HEALTHY)

    async def _keep(self, part: Part) -> None:
        budget = RestartBudget()
        while True:
            code = await part.process.ended()
            if not budget.spend(time.monotonic()):
                return self._give_up(part, budget)
            log.warning("%s ended with exit code %d: restarting it", part.name, code)
            part.start()
            self._restarting(part)
            try:
                await self._until_healthy(part)
            except ProcessError as error:
                log.warning("%s", error)
                part.process.kill()

    async def _until_healthy(self, part: Part) -> None:
        await part.healthy(HEALTHY_WITHIN_S)
        self._part(part).status = PartStatus.HEALTHY
        self.report()

    def _restarting(self, part: Part) -> None:
        state = self._part(part)
        state.status, state.pid, state.restarts = PartStatus.RESTARTING, part.process.pid, state.restarts + 1
        self.report()

    def _give_up(self, part: Part, budget: RestartBudget) -> None:
        self._part(part).status = PartStatus.FAILED
        often = f"ended {budget.most + 1} times within {budget.within_s:.0f} s and is not restarted any more"
        self.fail(part.process.failure(often))
        self._enter(Status.DEGRADED)

    def _part(self, part: Part) -> PartState:
        return next(state for state in self.state.parts if state.name == part.name)

    def _enter(self, status: Status) -> None:
        self.state.status = status
        self.report()


def _starting(part: Part) -> PartState:
    process = part.process
    return PartState(
        name=part.name,
        status=PartStatus.STARTING,
        pid=process.pid,
        port=part.port,
        log=process.log,
        pool=part.pool,
    )
