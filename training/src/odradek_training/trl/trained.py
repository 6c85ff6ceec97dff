"""Which groups a trainer has trained on, where it takes them ahead of that (pure)."""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from odradek_schemas.base import JsonObject


@dataclass(frozen=True, slots=True)
class _Given:
    """A group in the queue: its task, how many samples, and where the stream stood after it."""

    number: int
    task_id: str
    samples: int
    position: JsonObject


class Trained:
    """Groups go through a queue, then through batches that are collated before they are trained on, all in order.

    `position` is where the stream stood after the last group that was trained on wholly: a group that came before one
    that is trained on, and is in no batch, was dropped for its age, and is done with as well.
    """

    def __init__(self, position: JsonObject | None = None) -> None:
        self.position = position
        self._given: deque[_Given] = deque()
        self._batches: deque[Counter[int]] = deque()
        self._trained: Counter[int] = Counter()

    def give(self, number: int, task_id: str, samples: int, position: JsonObject) -> None:
        """Group `number`, above all before it, is put into the queue as `samples` samples, after which the stream stands
        at `position`."""
        self._given.append(_Given(number, task_id, samples, position))

    def collate(self, numbers: Iterable[int]) -> None:
        """A batch was made: `numbers` are the groups of its samples."""
        self._batches.append(Counter(numbers))

    def train(self) -> Sequence[str]:
        """The oldest batch was trained on; returns the tasks whose groups that completes.

        Raises:
            RuntimeError: none was collated.
        """
        if not self._batches:
            raise RuntimeError(
                "a batch was trained on that the collator was not seen to make: is this a TRL newer than 1.16?"
            )
        batch = self._batches.popleft()
        self._trained += batch
        newest, tasks = max(batch), []
        while self._given and self._is_done(self._given[0], newest):
            done = self._given.popleft()
            self.position = done.position
            if self._trained.pop(done.number, None):
                tasks.append(done.task_id)
        return tasks

    def _is_done(self, group: _Given, newest: int) -> bool:
        if group.number == newest:
            return self._trained[newest] >= group.samples
        return group.number < newest
