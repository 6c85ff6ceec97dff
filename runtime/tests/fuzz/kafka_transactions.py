"""The transaction coordinator's rules: epochs, fencing, two-phase ends, time-outs (transaction protocol 1)."""

from collections.abc import Callable
from dataclasses import dataclass, field

INVALID_EPOCH, INVALID_STATE, CONCURRENT = 47, 48, 51
NO_ERROR = 0


@dataclass
class Transaction:
    """What the coordinator knows of a transactional id."""

    producer: int
    epoch: int = 0
    state: str = "empty"
    timeout: float = 10.0
    partitions: set[tuple[str, int]] = field(default_factory=set)
    serial: int = 0


class Transactions:
    """`later` runs something after a drawn delay, or after the seconds given; `mark` writes one partition's marker."""

    def __init__(
        self,
        later: Callable[[Callable[[], None], float | None], None],
        mark: Callable[[Transaction, tuple[str, int], bool], None],
    ) -> None:
        self.by_id: dict[str, Transaction] = {}
        self._by_producer: dict[int, Transaction] = {}
        self._later = later
        self._mark = mark
        self.expired = 0
        self.fenced = 0

    def start(self, name: str, timeout: float) -> tuple[int, int, int]:
        """InitProducerId: an error code, the producer's id and its epoch."""
        found = self.by_id.get(name)
        if found is None:
            found = self.by_id[name] = Transaction(1000 + len(self.by_id))
            self._by_producer[found.producer] = found
        elif found.state in ("committing", "aborting"):
            return CONCURRENT, -1, -1
        elif found.state == "open":
            found.epoch += 1
            self._end(found, commit=False)
            return CONCURRENT, -1, -1
        else:
            found.epoch += 1
        found.timeout, found.state = timeout, "empty"
        return NO_ERROR, found.producer, found.epoch

    def check(self, producer: int, epoch: int) -> int:
        """Whether a producer is the newest of its id."""
        found = self._by_producer[producer]
        self.fenced += found.epoch != epoch
        return NO_ERROR if found.epoch == epoch else INVALID_EPOCH

    def add(self, name: str, epoch: int, partitions: set[tuple[str, int]]) -> int:
        """AddPartitionsToTxn."""
        found = self.by_id[name]
        if error := self.check(found.producer, epoch):
            return error
        if found.state in ("committing", "aborting"):
            return CONCURRENT
        if found.state != "open":
            found.state, found.serial = "open", found.serial + 1
            serial = found.serial
            self._later(lambda: self._expire(found, serial), found.timeout)
        found.partitions |= partitions
        return NO_ERROR

    def holds(self, producer: int, epoch: int, target: tuple[str, int]) -> int:
        """Whether a partition was added to the producer's open transaction (KIP-890 verification)."""
        if error := self.check(producer, epoch):
            return error
        found = self._by_producer[producer]
        return NO_ERROR if found.state == "open" and target in found.partitions else INVALID_STATE

    def end(self, name: str, epoch: int, commit: bool) -> int:
        """EndTxn: decided when this returns; the markers follow."""
        found = self.by_id[name]
        if error := self.check(found.producer, epoch):
            return error
        if found.state == "open":
            self._end(found, commit)
            return NO_ERROR
        if found.state == ("committing" if commit else "aborting"):
            return CONCURRENT
        return NO_ERROR if found.state == ("committed" if commit else "aborted") else INVALID_STATE

    def _expire(self, found: Transaction, serial: int) -> None:
        if found.state == "open" and found.serial == serial:
            self.expired += 1
            found.epoch += 1
            self._end(found, commit=False)

    def _end(self, found: Transaction, commit: bool) -> None:
        found.state = "committing" if commit else "aborting"
        left = set(found.partitions)

        def mark(target: tuple[str, int]) -> None:
            self._mark(found, target, commit)
            left.discard(target)
            if not left:
                found.state = "committed" if commit else "aborted"
                found.partitions = set()

        for target in sorted(left):
            self._later(lambda target=target: mark(target), None)  # type: ignore[misc]
