"""Following a run until it ends: what comes is folded, shown, and bounded by the run's own deadline."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import TracebackType

from rich.console import Console
from rich.live import Live

from odradek_cli.attendance import Absence, Attendance, attended
from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import Log
from odradek_cli.progress import Pace, View
from odradek_cli.render import progress_line, progress_panel
from odradek_cli.runs import Run, started_at, tells_of_runs
from odradek_schemas.codec import Envelope
from odradek_schemas.events import RunFinished, RunImported, RunProgressed
from odradek_schemas.topics import RUN_PROGRESS, RUNS

SILENCE_SECONDS = 90.0
GRACE_SECONDS = 120.0
PATIENCE_SECONDS = 120.0
"""Long enough for an autoscaler that starts its first worker."""
PLAIN_EVERY_SECONDS = 2.0

Show = Callable[[View | None, str], None]


async def follow_run(
    log: Log, run: Run, show: Show, within: float | None = None, patience: float = PATIENCE_SECONDS
) -> Run:
    """Show a run's progress until it ends (its last state when it has ended before), and return it as it ended.

    Raises:
        CliError: it did not end by its own deadline (and two minutes), or within `within` seconds; or nothing was
            heard for `patience` seconds, and all the time somebody whom it needs (Kafka, a kind of worker) was missing.
    """
    if isinstance(run.request, RunImported):
        raise CliError(
            f"run {run.id} was imported: nothing is played",
            Exit.INVALID_INPUT,
            f"`odradek results {run.id}` tells how many of its rollouts are scored",
        )
    if run.finished:
        show(Pace().view(run.finished), _note(run, 0.0, ()))
        return run
    seconds = within if within is not None else _left(run, run.request.deadline_seconds)
    try:
        async with asyncio.timeout(seconds):
            async with attended(log) as attendance:
                return await _until_finished(log, run, show, attendance, patience)
    except TimeoutError as error:
        raise CliError(
            f"run {run.id} did not end within {seconds:.0f} s",
            Exit.NO_STACK,
            f"it goes on: `odradek watch {run.id}`; is the task-producer up (`odradek status`)?",
        ) from error


async def _until_finished(log: Log, run: Run, show: Show, attendance: Attendance, patience: float) -> Run:
    def of_run(envelope: Envelope) -> bool:
        return tells_of_runs(envelope, run.id)

    partition = log.home(run.id)
    pace, view, heard = Pace(), None, time.monotonic()
    show(None, "waiting for the task-producer")
    async for found in log.follow(
        [(RUNS, partition), (RUN_PROGRESS, partition)], of_run, since=run.request.time
    ):
        for event in (f.event for f in found):
            late = run.finished  # the two topics overtake each other
            run = run.after(event)
            if isinstance(event, RunProgressed | RunFinished) and not late:
                view, heard = pace.view(event), time.monotonic()
        silent = time.monotonic() - heard
        show(view, _note(run, silent, attendance.absences))
        if run.finished:
            break
        if min(attendance.longest(), silent) > patience:
            raise _abandoned(run, attendance.absences, patience)
    return run


def _abandoned(run: Run, absences: Sequence[Absence], patience: float) -> CliError:
    return CliError(
        f"run {run.id} can't go on for {patience:g} s: {'; '.join(map(str, absences))}",
        Exit.NO_STACK,
        f"start what is missing (`odradek status` shows it); nothing is lost: then `odradek watch {run.id}`",
    )


def _note(run: Run, silent: float, absences: Sequence[Absence]) -> str:
    if run.finished:
        return f"{run.finished.status}"
    if absences:
        return f"waiting: {'; '.join(map(str, absences))} (`odradek status`)"
    if silent > SILENCE_SECONDS:
        whole = silent // SILENCE_SECONDS * SILENCE_SECONDS
        return f"no news for {whole:.0f} s (`odradek status` shows whether all services are up)"
    if run.cancelling:
        return "cancelling"
    return "" if run.progress else "waiting for the task-producer"


def _left(run: Run, deadline_seconds: float) -> float:
    ends = started_at(run) + timedelta(seconds=deadline_seconds)
    return max(0.0, (ends - datetime.now(ends.tzinfo)).total_seconds()) + GRACE_SECONDS


@dataclass
class Screen:
    """Shows a run's progress: live on a terminal, else a line when something changed, every two seconds at most."""

    console: Console
    run_id: str
    _live: Live | None = None
    _line: str = ""
    _at: float = field(default=float("-inf"))

    def __enter__(self) -> "Screen":
        if self.console.is_terminal:
            self._live = Live(console=self.console, refresh_per_second=5, transient=True)
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.__exit__(kind, error, trace)

    def show(self, view: View | None, note: str) -> None:
        if self._live:
            self._live.update(progress_panel(self.run_id, view, note))
            return
        line = ", ".join(filter(None, [progress_line(view) if view else "", note]))
        due = time.monotonic() - self._at >= PLAIN_EVERY_SECONDS or (view and view.finished == view.planned)
        if line != self._line and due:
            self.console.print(f"{self.run_id}: {line}", markup=False, highlight=False, soft_wrap=True)
            self._line = line
            self._at = time.monotonic() if view else self._at
