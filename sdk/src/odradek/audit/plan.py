"""Which rollouts of a run were seen: one byte for each, so that a run of a million takes a megabyte."""

from collections.abc import Iterator

MOST = 100_000_000
"""No run is larger: an index above it is a mistake, not a rollout."""

ASKED = 1
WHOLE = 2


class Plan:
    """Rollouts by their number in the plan: task index times `samples`, plus the sample."""

    def __init__(self, run_id: str, samples: int) -> None:
        self._run_id = run_id
        self._samples = samples
        self._seen = bytearray()
        self._scored: dict[str, bytearray] = {}

    def index_of(self, rollout_id: str) -> int | None:
        """The rollout's number; None: no plan of this run has such a rollout."""
        run_id, _, rest = rollout_id.partition("/")
        task, _, sample = rest.partition("/")
        if run_id != self._run_id or not (task.isdecimal() and sample.isdecimal()):
            return None
        index = int(task) * self._samples + int(sample)
        return index if int(sample) < self._samples and index < MOST else None

    def id_of(self, index: int) -> str:
        task, sample = divmod(index, self._samples)
        return f"{self._run_id}/{task}/{sample}"

    def mark(self, index: int, flag: int) -> None:
        _reach(self._seen, index)
        self._seen[index] |= flag

    def has(self, index: int, flag: int) -> bool:
        return index < len(self._seen) and bool(self._seen[index] & flag)

    def score(self, index: int, scoring: str) -> bool:
        """Note a reward of a later scoring; False: it has one."""
        scored = self._scored.setdefault(scoring, bytearray())
        _reach(scored, index)
        first = not scored[index]
        scored[index] = 1
        return first

    def count(self) -> int:
        """How many rollouts were asked for."""
        return len(self._seen) - self._seen.count(0)

    def missing(self, admitted: int) -> Iterator[int]:
        """Numbers below `admitted` of which nothing was seen."""
        return (index for index in range(admitted) if not self.has(index, ASKED | WHOLE))


def _reach(table: bytearray, index: int) -> None:
    if index >= len(table):
        table.extend(bytes(index + 1 - len(table)))
