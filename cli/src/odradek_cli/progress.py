"""How fast a run goes, and when it will be done: pure, by the times that the events carry."""

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from odradek_schemas.events import RunFinished, RunProgressed

WINDOW = timedelta(seconds=30)


@dataclass(frozen=True)
class View:
    """What a run looks like at one moment. Rates are per second; None: not known yet."""

    planned: int
    admitted: int
    finished: int
    masked: int
    mean_reward: float | None
    failures: dict[str, int]
    rollouts_per_second: float | None
    tokens_per_second: float | None
    eta_seconds: float | None

    @property
    def in_flight(self) -> int:
        return max(0, self.admitted - self.finished)

    @property
    def coverage(self) -> float | None:
        """The scored ones among the finished; None: none is finished."""
        return (self.finished - self.masked) / self.finished if self.finished else None

    @property
    def share(self) -> float:
        return self.finished / self.planned if self.planned else 0.0


@dataclass(frozen=True)
class _Mark:
    at: datetime
    finished: int
    tokens: int


@dataclass
class Pace:
    """Takes in a run's progress; rates are over the last 30 seconds of it, or from its start."""

    _marks: deque[_Mark] = field(default_factory=deque)

    def view(self, progress: RunProgressed | RunFinished) -> View:
        """The view after one more event that tells of progress; the last one is `RunFinished`."""
        counts = progress.counts
        if not self._marks:
            self._marks.append(_Mark(progress.started_at, 0, 0))
        self._marks.append(_Mark(progress.time, counts.finished, counts.usage.completion_tokens))
        while len(self._marks) > 2 and self._marks[1].at <= progress.time - WINDOW:
            self._marks.popleft()
        rate = self._rate("finished")
        return View(
            planned=progress.planned,
            admitted=progress.admitted,
            finished=counts.finished,
            masked=counts.masked,
            mean_reward=counts.mean_reward,
            failures=counts.failures,
            rollouts_per_second=rate,
            tokens_per_second=self._rate("tokens"),
            eta_seconds=(progress.planned - counts.finished) / rate if rate else None,
        )

    def _rate(self, what: str) -> float | None:
        first, last = self._marks[0], self._marks[-1]
        lasted = (last.at - first.at).total_seconds()
        gained: int = getattr(last, what) - getattr(first, what)
        return gained / lasted if lasted > 0 else None


def duration(seconds: float) -> str:
    """`48s`, `3m12s`, `2h05m`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"
