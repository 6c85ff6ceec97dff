"""Where a key's records lie."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from aiokafka.partitioner import murmur2

from odradek_schemas.events import Event, PartitionsAdded

GROW_COMMAND = "odradek topics grow"


def partition_of(key: str, partitions: int) -> int:
    """The partition that Kafka's default partitioner chooses for `key`: murmur2, made positive."""
    return int(murmur2(key.encode()) & 0x7FFFFFFF) % partitions


@dataclass(frozen=True)
class Layout:
    """How many partitions the topics have had, in the order of time (decision 13). The last number is today's.

    A run belongs to the partition that its id had among the first of them, for ever: whoever asks for it, counts for
    it or looks for it agrees without asking. A rollout lies where the planner of its day put it.
    """

    counts: tuple[int, ...]

    @property
    def now(self) -> int:
        """How many partitions the topics have, or are just being given."""
        return self.counts[-1]

    @property
    def homes(self) -> int:
        """Among how many partitions runs are dealt."""
        return self.counts[0]

    def home(self, run_id: str) -> int:
        """The partition that a run belongs to: what is asked of it, how far it is and how it ended lie there."""
        return partition_of(run_id, self.homes)

    def places(self, rollout_id: str, partitions: int) -> list[int]:
        """The partitions in which a rollout's records may lie, the newest first; topics have so many `partitions`."""
        counts = [count for count in reversed(self.counts) if count <= partitions]
        return list(dict.fromkeys(partition_of(rollout_id, count) for count in counts))


def layout_of(control: Iterable[Event], partitions: int) -> Layout:
    """What the events of `control` tell of the topics; they have had `partitions` ever since where none does."""
    told = [event.counts for event in control if isinstance(event, PartitionsAdded)]
    return Layout(tuple(told[-1]) if told else (partitions,))


def advice(found: Collection[int], partitions: int) -> str:
    """What to do where topics have `found` partitions, one number or several, and `partitions` were counted on."""
    most = max(found, default=partitions)
    if len(set(found)) > 1:
        return (
            f"Partitions are being added, or that was cut short: run `{GROW_COMMAND} --partitions {most}` (again), "
            f"then start the workers with ODRADEK_PARTITIONS={most}"
        )
    instead = f", or run `{GROW_COMMAND} --partitions {partitions}`" if partitions > most else ""
    return f"Set ODRADEK_PARTITIONS={most}{instead}; another ODRADEK_TOPIC_PREFIX is another deployment"
