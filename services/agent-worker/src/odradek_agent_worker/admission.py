"""Which rollouts are let in: as many as memory was set aside for, and none of a cancelled run."""

from odradek_schemas.events import RunCancelled


class Admission:
    """The door of one partition. `most`: unfinished rollouts at any time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._cancelled: dict[str, RunCancelled] = {}

    def has_room(self, unfinished: int) -> bool:
        return unfinished < self._most

    def cancel(self, event: RunCancelled) -> bool:
        """Remember that a run is cancelled; False: it was known."""
        known = event.run_id in self._cancelled
        self._cancelled[event.run_id] = event
        return not known

    def cancelled(self, run_id: str) -> RunCancelled | None:
        return self._cancelled.get(run_id)


def share(most_of_worker: int, partitions: int) -> int:
    """The bound of one partition, were one worker to own them all."""
    return max(1, most_of_worker // partitions)
