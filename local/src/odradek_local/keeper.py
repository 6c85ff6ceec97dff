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
    """Keeps parts running; `report` is called with each change of the state."""

    def __init__(self, state: StackState, report: Callable[[StackState], None]):
        self.state = state
        self._report = report
        self._layers: list[Sequence[Part]] = []

    async def bring_up(self, parts: Sequence[Part]) -> None:
        """Starts these parts at once and waits until all are healthy; raises ProcessError, JarError."""
        self._layers.append(parts)
        for part in parts:
            part.start()
            log.info("%s started: pid %d, port %d", part.name, part.process.pid, part.port)
            self.state.parts.append(_starting(part))
            self._report(self.state)
        await asyncio.gather(*(self._until_healthy(part) for part in parts))

    async def keep(self) -> None:
        """Restarts each part that ends, until cancelled."""
        self._enter(Status.HEALTHY)
        parts = [part for layer in self._layers for part in layer]
        await asyncio.gather(*(self._keep(part) for part in parts))
        await asyncio.Event().wait()  # every part has failed: the state says so, and `down` ends it

    async def stop(self) -> None:
        """Stops all parts, those started last first."""
        self._enter(Status.STOPPING)
        for layer in reversed(self._layers):
            await asyncio.gather(*(asyncio.to_thread(part.stop) for part in layer))
        self.state.parts.clear()
        self._enter(Status.FAILED if self.state.error else Status.STOPPED)

    def fail(self, error: Exception) -> None:
        """Notes why the stack can't be."""
        self.state.error = str(error)
        log.error("%s", error)

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
        self._report(self.state)

    def _restarting(self, part: Part) -> None:
        state = self._part(part)
        state.status, state.pid, state.restarts = PartStatus.RESTARTING, part.process.pid, state.restarts + 1
        self._report(self.state)

    def _give_up(self, part: Part, budget: RestartBudget) -> None:
        self._part(part).status = PartStatus.FAILED
        often = f"ended {budget.most + 1} times within {budget.within_s:.0f} s and is not restarted any more"
        self.fail(part.process.failure(often))
        self._enter(Status.DEGRADED)

    def _part(self, part: Part) -> PartState:
        return next(state for state in self.state.parts if state.name == part.name)

    def _enter(self, status: Status) -> None:
        self.state.status = status
        self._report(self.state)


def _starting(part: Part) -> PartState:
    process = part.process
    return PartState(
        name=part.name, status=PartStatus.STARTING, pid=process.pid, port=part.port, log=process.log
    )
