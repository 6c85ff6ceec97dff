"""The runs that have not ended, followed in the background: each event is read once, however often somebody looks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from aiokafka.errors import KafkaError

from odradek_cli.deployment import Deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import Log, open_log
from odradek_cli.progress import Pace, View
from odradek_cli.runs import Run, tells_of_runs
from odradek_schemas.events import Event, RunFinished, RunImported, RunProgressed, RunRequested
from odradek_schemas.topics import RUN_PROGRESS, RUNS

CATCH_UP_SECONDS = 60.0
"""Until all that the log already has of runs is read."""


@dataclass(frozen=True)
class RunNow:
    """A run that has not ended. `view` None: nothing is known of its progress yet."""

    run: Run
    view: View | None


@dataclass
class _Known:
    """What was heard of one run; its progress may come before its request, from another topic."""

    run: Run | None = None
    view: View | None = None
    over: bool = False
    pace: Pace = field(default_factory=Pace)

    def hear(self, event: Event) -> None:
        if isinstance(event, RunFinished | RunImported):
            self.over = True
        elif isinstance(event, RunProgressed):
            self.view = self.pace.view(event)
        if isinstance(event, RunRequested):
            self.run = self.run or Run(event)
        elif self.run is not None:
            self.run = self.run.after(event)


class RunsUnderWay:
    """What was heard of all runs."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self.caught_up = asyncio.Event()

    def hear(self, event: Event) -> None:
        self._known.setdefault(event.run_id or "", _Known()).hear(event)

    def now(self, run_id: str | None = None) -> tuple[RunNow, ...]:
        """The unfinished ones, or one of them, the oldest first."""
        runs = [
            RunNow(known.run, known.view)
            for run, known in self._known.items()
            if known.run is not None and not known.over and run_id in (None, run)
        ]
        return tuple(sorted(runs, key=lambda now: (now.run.request.time, now.run.id)))


@asynccontextmanager
async def following(deployment: Deployment) -> AsyncIterator[RunsUnderWay]:
    """Follow for as long as the context lasts; it begins when all that is in the log is known.

    Raises:
        CliError: Kafka does not answer.
    """
    runs = RunsUnderWay()
    async with open_log(deployment) as log:
        task = asyncio.create_task(_follow(log, runs))
        try:
            await _caught_up(runs, task)
            yield runs
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError, KafkaError):
                await task


async def _caught_up(runs: RunsUnderWay, task: "asyncio.Task[None]") -> None:
    waiting = asyncio.create_task(runs.caught_up.wait())
    await asyncio.wait({waiting, task}, timeout=CATCH_UP_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not runs.caught_up.is_set():
        raise CliError("the runs can't be read: no answer", Exit.NO_STACK, "again in a moment")


async def _follow(log: Log, runs: RunsUnderWay) -> None:
    places = [(topic, number) for topic in (RUNS, RUN_PROGRESS) for number in range(log.partitions)]
    async for found in log.follow(places, tells_of_runs):
        for each in found:
            runs.hear(each.event)
        if not found:
            runs.caught_up.set()
