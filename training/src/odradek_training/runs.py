"""What the log tells of the runs that a stream reads (pure)."""

from collections.abc import Iterable

from odradek_schemas.codec import Envelope
from odradek_schemas.events import Event, RunDemandRaised, RunFinished, RunImported, RunRequested, RunStatus
from odradek_training.errors import RunDiffers, RunFailed, RunNotFound
from odradek_training.selection import Selection

Run = RunRequested | RunImported

_TOLD = frozenset({"RunRequested", "RunImported", "RunDemandRaised", "RunFinished"})


class Runs:
    """The runs of a selection, by id. `group_size`: what the trainer counts on; None: it takes what there is."""

    def __init__(self, selection: Selection, group_size: int | None, by_demand: bool) -> None:
        self._selection = selection
        self._group_size = group_size
        self._by_demand = by_demand
        self._wanted: dict[str, Run] = {}
        self._demand: dict[str, int] = {}
        self._finished: dict[str, RunFinished] = {}

    def may_want(self, envelope: Envelope) -> bool:
        """Whether an event of `runs` may matter, by its headers alone."""
        named = self._selection.runs
        return envelope.type in _TOLD and (not named or envelope.run_id in named)

    def tell(self, event: Event) -> None:
        """Take an event of `runs`. The first request of a run is the one that counts.

        Raises:
            RunDiffers: the run's groups have another size, or it is not played by demand.
        """
        match event:
            case RunRequested() | RunImported() if event.run_id not in self._wanted:
                self._ask(event)
            case RunDemandRaised() if event.run_id in self._wanted:
                self.raised(event.run_id, event.demand)
            case RunFinished() if event.run_id in self._wanted:
                self._finished.setdefault(event.run_id, event)

    def find(self, run_id: str | None) -> Run | None:
        """The request of a run that the stream reads; None: it is not one of them, or not known yet."""
        return self._wanted.get(run_id or "")

    def raised(self, run_id: str, demand: int) -> None:
        """The run's demand is at least `demand` now."""
        self._demand[run_id] = max(demand, self._demand.get(run_id, 0))

    def demanded(self, run_id: str) -> int:
        """The rollouts that were asked for so far."""
        return self._demand.get(run_id, 0)

    @property
    def by_demand(self) -> Iterable[RunRequested]:
        """The runs that admit what is asked for, and are not over."""
        return [
            run
            for run_id, run in self._wanted.items()
            if isinstance(run, RunRequested) and run.demand is not None and run_id not in self._finished
        ]

    @property
    def wanted(self) -> Iterable[Run]:
        """The runs that are known."""
        return self._wanted.values()

    @property
    def finished(self) -> set[str]:
        """The runs that have ended. An imported one is over as soon as it is known: nothing is played."""
        imported = {run_id for run_id, run in self._wanted.items() if isinstance(run, RunImported)}
        return self._finished.keys() | imported

    @property
    def all_finished(self) -> bool:
        """Whether the stream reads certain runs, and all have ended."""
        named = self._selection.runs
        return bool(named) and self.finished.issuperset(named)

    def check(self) -> None:
        """Be sure that every named run is there.

        Raises:
            RunNotFound: one is not.
        """
        for run_id in self._selection.runs:
            if run_id not in self._wanted:
                raise RunNotFound(
                    f"no run {run_id!r} in this log: ask for it first (`odradek run ... --demand 0`); "
                    "`odradek runs` lists those there are"
                )

    def check_ends(self) -> None:
        """Be sure that no named run failed.

        Raises:
            RunFailed: one never began, or could not go on.
        """
        for run_id in self._selection.runs:
            end = self._finished.get(run_id)
            if end is not None and end.status is RunStatus.FAILED:
                why = f"{end.failure.kind}: {end.failure.message}" if end.failure else "no reason was given"
                raise RunFailed(f"run {run_id} failed: {why}")

    def _ask(self, run: Run) -> None:
        named = run.run_id in self._selection.runs
        if not self._selection.wants_run(run):
            if named:
                raise RunDiffers(
                    f"run {run.run_id} is of environment {run.environment!r} with model {run.model!r}, "
                    f"the stream wants environment {self._selection.environment!r}, model {self._selection.model!r}"
                )
            return
        if self._group_size not in (None, run.samples):
            raise RunDiffers(
                f"run {run.run_id} plays {run.samples} rollouts of each task, the stream wants groups of "
                f"{self._group_size}: `odradek run --samples {self._group_size}`, or leave group_size out"
            )
        demand = run.demand if isinstance(run, RunRequested) else None
        if named and self._by_demand and demand is None:
            raise RunDiffers(
                f"run {run.run_id} admits its rollouts without demand, so `ahead` has no effect: "
                "`odradek run --demand 0`, or leave ahead out"
            )
        self._wanted[run.run_id] = run
        self._demand.setdefault(run.run_id, demand or 0)
