"""Where work stands: which rollouts wait for what, for whom and since when, and which partitions nobody works on."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from odradek_runtime.groups import Member

BEHIND_SECONDS = 60.0
"""A record that no worker has taken up for so long names its partition as stalled."""


@dataclass(frozen=True)
class Wait:
    """One thing that a rollout waits for. `on`: its id; `who` should act; `state`: how far that is."""

    rollout_id: str
    kind: str
    on: str
    since: datetime
    who: str
    state: str
    deadline: datetime | None = None

    @property
    def overdue(self) -> bool:
        return self.deadline is not None and datetime.now(UTC) > self.deadline


@dataclass(frozen=True)
class Behind:
    """A partition with records that wait: `records` at most (markers count), the oldest since when."""

    worker: str
    topic: str
    partition: int
    records: int
    since: datetime
    owner: str | None

    @property
    def stalled(self) -> bool:
        """Nobody owns it, or nobody has taken up its oldest record for a minute."""
        return self.owner is None or datetime.now(UTC) - self.since > timedelta(seconds=BEHIND_SECONDS)


@dataclass(frozen=True)
class Standing:
    """`counts`: rollouts by what they wait for; `waits`: those that have waited longest; `passed`: how far each kind of
    worker is, as the sum of its positions."""

    workers: dict[str, tuple[Member, ...]]
    counts: dict[str, int]
    waits: tuple[Wait, ...]
    behind: tuple[Behind, ...]
    passed: dict[str, int]
