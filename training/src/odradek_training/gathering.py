"""One group while it is gathered (pure)."""

from enum import StrEnum

from odradek_training.arrival import Arrival


class Reason(StrEnum):
    """Why a rollout was left out, or most of what a dropped group lacked. `incomplete`: it was well, its group not."""

    MASKED = "masked"
    STALE = "stale"
    LATE = "late"
    MISSING = "missing"
    UNREADABLE = "unreadable"
    DUPLICATE = "duplicate"
    INCOMPLETE = "incomplete"


class Gathering:
    """What is there of a group. Late is what was written after the first reward's time and the deadline, whenever it
    was read: so the same log makes the same groups, however partitions interleave."""

    def __init__(self, arrival: Arrival, deadline: float | None) -> None:
        self.run_id = arrival.run_id
        self.task_id = arrival.task_id
        self.size = arrival.size
        self.ready = False
        self.partitions: list[int] = []
        self._opened = arrival.time
        self._deadline = deadline
        self._members: dict[str, Arrival] = {}

    def add(self, arrival: Arrival) -> bool:
        """Take a record; False: its rollout is here already."""
        self.partitions.append(arrival.partition)
        self._opened = min(self._opened, arrival.time)
        return self._members.setdefault(arrival.rollout_id, arrival) is arrival

    @property
    def whole(self) -> bool:
        """Whether all planned rollouts are here, late or not."""
        return not self.missing

    @property
    def missing(self) -> int:
        """How many planned rollouts are not here."""
        return max(0, self.size - len(self._members))

    @property
    def expires(self) -> float | None:
        """The last moment, in the log's time, of what is not late; None: nothing ever is."""
        return None if self._deadline is None else self._opened + self._deadline

    @property
    def members(self) -> list[tuple[Arrival, bool]]:
        """Each rollout's record, and whether it is late."""
        last = self.expires
        return [(member, last is not None and member.time > last) for member in self._members.values()]
