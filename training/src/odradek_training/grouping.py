"""From rewards as they come out of the log to groups, and to a position from which this can go on (pure).

A position holds, for each partition, the offset of the first record that an undecided group needs, and the groups
behind it that are decided already. To go on from there is to read all records of undecided groups again: they gather
as before, while those of decided groups are recognised and left out. A group becomes decided in the moment in which
it is given out or dropped, so whoever stores the position with what it did with the group does that exactly once.
"""

import heapq
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from odradek_training.arrival import Arrival
from odradek_training.gathering import Gathering
from odradek_training.group import Group
from odradek_training.judging import judge
from odradek_training.policies import Policies
from odradek_training.position import Position
from odradek_training.rules import Rules
from odradek_training.stats import Tally
from odradek_training.window import Window

_NEVER = float("-inf")


@dataclass
class _Done:
    """A decided group: how many of its records are held in windows, and how many were never met."""

    held: int
    missing: int

    @property
    def owed(self) -> int:
        """Records that a restart will meet."""
        return self.held + self.missing


class Grouping:
    """`starts`: the offset from which each partition is read."""

    def __init__(
        self, rules: Rules, policies: Policies, position: Position, starts: Mapping[int, int]
    ) -> None:
        self.tally = Tally()
        self.decided = dict(position.decided)
        self._rules = rules
        self._policies = policies
        self._selection = position.selection
        self._windows = {partition: Window(start) for partition, start in starts.items()}
        self._clocks = dict.fromkeys(starts, _NEVER)
        self._open: dict[str, Gathering] = {}
        self._ready: deque[str] = deque()
        self._expiring: list[tuple[float, str]] = []
        self._done = {task: _Done(held=0, missing=owed) for task, owed in position.done.items()}

    @property
    def ready(self) -> int:
        """Groups that `take` will decide."""
        return len(self._ready)

    @property
    def gathering(self) -> list[Gathering]:
        """The groups that wait for more."""
        return [group for group in self._open.values() if not group.ready]

    @property
    def read(self) -> dict[int, int]:
        """The offset behind all that was read of each partition."""
        return {partition: window.next for partition, window in self._windows.items()}

    def add(self, arrival: Arrival) -> None:
        """Take the next wanted record of a partition."""
        self._windows[arrival.partition].hold(arrival.offset, arrival.task_id)
        self._tell_time(arrival.partition, arrival.time)
        done = self._done.get(arrival.task_id)
        if done is None:
            self._gather(arrival)
        else:  # a restart reads it again, or it came too late
            done.held += 1
            done.missing = max(0, done.missing - 1)
            self._release(arrival.partition)

    def widen(self, partition: int, start: int) -> None:
        """A partition was added to the topic; it is read from `start`."""
        self._windows[partition] = Window(start)
        self._clocks[partition] = _NEVER

    def advance(self, partition: int, offset: int, time: float = _NEVER) -> None:
        """All of `partition` before `offset` has been read, and all that was written before `time`."""
        self._windows[partition].advance(offset)
        self._tell_time(partition, time)

    def expire(self) -> None:
        """Close the groups whose deadline has passed on every partition."""
        now = min(self._clocks.values(), default=_NEVER)
        while self._expiring and self._expiring[0][0] < now:
            _, task_id = heapq.heappop(self._expiring)
            group = self._open.get(task_id)
            if group is not None and group.expires is not None and group.expires < now:
                self._close(group)

    def end_run(self, run_id: str) -> None:
        """No more rewards of a run will come: close its groups as they are."""
        for group in self.gathering:
            if group.run_id == run_id:
                self._close(group)

    def take(self) -> Group | None:
        """The next group to train on, which is decided with this; None: there is none now.

        Raises:
            PolicyUnordered: staleness has a bound, and a version does not end in a number.
        """
        while self._ready:
            gathered = self._open[self._ready[0]]
            judgement = judge(gathered, self._rules, self._policies)
            self._ready.popleft()
            self._decide(gathered)
            self.tally.note(judgement, self._policies)
            if judgement.group is not None:
                return judgement.group
        return None

    def position(self) -> Position:
        """Where a restart goes on: all groups that were given out or dropped so far are decided."""
        return Position(
            selection=self._selection,
            offsets={partition: window.low for partition, window in self._windows.items()},
            done={task: done.owed for task, done in self._done.items()},
            decided=self.decided,
        )

    def _tell_time(self, partition: int, time: float) -> None:
        self._clocks[partition] = max(self._clocks[partition], time)

    def _gather(self, arrival: Arrival) -> None:
        group = self._open.get(arrival.task_id)
        expired = None if group is None else group.expires
        if group is None:
            group = self._open[arrival.task_id] = Gathering(arrival, self._rules.group_deadline)
        if not group.add(arrival):
            self.tally.duplicate()
        if group.expires is not None and group.expires != expired:
            heapq.heappush(self._expiring, (group.expires, group.task_id))
        if group.whole:
            self._close(group)

    def _close(self, group: Gathering) -> None:
        if not group.ready:
            group.ready = True
            self._ready.append(group.task_id)

    def _decide(self, group: Gathering) -> None:
        del self._open[group.task_id]
        self._done[group.task_id] = _Done(held=len(group.partitions), missing=group.missing)
        self.decided[group.run_id] = self.decided.get(group.run_id, 0) + 1
        for partition in set(group.partitions):
            self._release(partition)

    def _release(self, partition: int) -> None:
        """Let go of what no restart needs; a group all of whose records are let go of is forgotten."""
        for task_id in self._windows[partition].release(self._done.__contains__):
            done = self._done[task_id]
            done.held -= 1
            if not done.owed:
                del self._done[task_id]
