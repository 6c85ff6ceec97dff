"""What the log tells of runs: what was asked, how far they are, and how they ended."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import SCAN_SECONDS, Found, Log
from odradek_schemas.codec import Envelope
from odradek_schemas.events import (
    Event,
    RewardAssigned,
    RunCancelRequested,
    RunFinished,
    RunImported,
    RunProgressed,
    RunRequested,
)
from odradek_schemas.events.results import PRIMARY_SCORING
from odradek_schemas.topics import REWARDS, RUN_PROGRESS, RUNS

_BEGINS = frozenset({"RunRequested", "RunImported"})
_TOLD = _BEGINS | {"RunCancelRequested", "RunFinished", "RunProgressed"}


@dataclass(frozen=True)
class Run:
    """A run as the log tells it now: one that is played here, or one whose rollouts were imported."""

    request: RunRequested | RunImported
    progress: RunProgressed | None = None
    finished: RunFinished | None = None
    cancelling: bool = False

    @property
    def id(self) -> str:
        return self.request.run_id

    @property
    def status(self) -> str:
        if self.finished:
            return str(self.finished.status)
        if isinstance(self.request, RunImported):
            return "imported"
        if self.cancelling:
            return "cancelling"
        return "running" if self.progress else "requested"

    @property
    def last(self) -> RunFinished | RunProgressed | None:
        """The last word on its counts."""
        return self.finished or self.progress

    @property
    def planned(self) -> int | None:
        """How many rollouts it is to have; None: not known yet."""
        if isinstance(self.request, RunImported):
            return self.request.rollouts
        return self.last.planned if self.last else None

    def after(self, event: Event) -> "Run":
        """The run after one more event of its own."""
        match event:
            case RunProgressed():
                return Run(self.request, event, self.finished, self.cancelling)
            case RunFinished():
                return Run(self.request, self.progress, event, self.cancelling)
            case RunCancelRequested():
                return Run(self.request, self.progress, self.finished, True)
            case _:
                return self


def tells_of_runs(envelope: Envelope, run_id: str | None = None) -> bool:
    """Whether an event of `runs` or `run-progress` matters to who looks on, of one run or of any."""
    return envelope.type in _TOLD and run_id in (None, envelope.run_id)


def fold_runs(events: Iterable[Event]) -> list[Run]:
    """The runs that some events tell of, the oldest first. The first request of a run is the one that counts."""
    by_run: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_run[event.run_id or ""].append(event)
    runs = []
    for told in by_run.values():
        requests = [event for event in told if isinstance(event, RunRequested | RunImported)]
        if requests:
            run = Run(requests[0])
            for event in told:
                run = run.after(event)
            runs.append(run)
    return sorted(runs, key=lambda run: (run.request.time, run.id))


async def load_runs(log: Log, within: float = SCAN_SECONDS) -> list[Run]:
    """All runs of the deployment, the oldest first."""
    told = await log.scan(RUNS, tells_of_runs, within=within)
    since = min((found.event.time for found in told), default=None)
    told += await log.scan(RUN_PROGRESS, tells_of_runs, since=since, within=within)
    return fold_runs(found.event for found in told)


async def load_run(log: Log, run_id: str | None, within: float = SCAN_SECONDS) -> Run:
    """One run, or the last one that was requested.

    Raises:
        CliError: there is none of that id, or none at all.
    """
    if run_id is None:
        return await _last_run(log, within)

    def of_run(envelope: Envelope) -> bool:
        return tells_of_runs(envelope, run_id)

    partition = log.home(run_id)
    told = await log.scan(RUNS, of_run, partition=partition, within=within)
    since = min((found.event.time for found in told), default=None)
    told += await log.scan(RUN_PROGRESS, of_run, partition=partition, since=since, within=within)
    runs = fold_runs(found.event for found in told)
    if not runs:
        raise CliError(f"no run {run_id!r} here", Exit.INVALID_INPUT, "`odradek runs` lists them")
    return runs[0]


async def load_rewards(
    log: Log, run: Run, within: float = SCAN_SECONDS, scoring: str = PRIMARY_SCORING
) -> list[RewardAssigned]:
    """The rewards of one scoring of a run, by default of the first; without their tokens, which are long.

    Raises:
        CliError: nothing of the run has this scoring, and it is not the first.
    """
    rewards: list[RewardAssigned] = []
    seen: set[str] = set()

    def wanted(envelope: Envelope) -> bool:
        if envelope.type != RewardAssigned.__name__ or envelope.run_id != run.id:
            return False
        seen.add(envelope.scoring or PRIMARY_SCORING)
        return (envelope.scoring or PRIMARY_SCORING) == scoring

    def take(found: Found) -> None:
        rewards.append(found.event.model_copy(update={"samples": []}))

    await log.each(REWARDS, take, wanted, since=run.request.time, within=within)
    if scoring not in seen | {PRIMARY_SCORING}:
        what = f"{run.id} has no scoring {scoring!r}, only {', '.join(sorted(seen)) or 'none yet'}"
        raise CliError(what, Exit.INVALID_INPUT, "`odradek rescore` makes one")
    return rewards


async def _last_run(log: Log, within: float) -> Run:
    asked = await log.scan(RUNS, lambda envelope: envelope.type in _BEGINS, within=within)
    if not asked:
        raise CliError("no run yet", Exit.INVALID_INPUT, "`odradek run ENV --model NAME` starts one")
    newest: Found = max(asked, key=lambda found: (found.event.time, found.event.run_id))
    return await load_run(log, newest.event.run_id, within)


def started_at(run: Run) -> datetime:
    """When the run began, as far as is known."""
    return run.last.started_at if run.last else run.request.time
