"""How many rollouts a rank wants of a run (pure)."""

from odradek_schemas import ids
from odradek_training.selection import Selection


class Demand:
    """Rollouts are admitted task by task, in the order of the data set: to have its next tasks played, a rank asks for
    all rollouts up to the last of them."""

    def __init__(self, run_id: str, size: int, selection: Selection) -> None:
        self._run_id = run_id
        self._size = size
        self._selection = selection
        self._own = 0
        self._tasks = 0

    def of(self, groups: int) -> int:
        """The rollouts that make the rank's first `groups` groups; asked with growing numbers."""
        while self._own < groups:
            self._own += self._selection.owns(ids.task_id(self._run_id, self._tasks))
            self._tasks += 1
        return self._tasks * self._size
