"""What one kind of worker tells Prometheus of its own work, beside what every worker tells (`metrics`).

What is counted is counted when its transaction is committed: a restore, a replay, or work that is done again because its
commit failed counts for nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from prometheus_client.registry import Collector

from odradek_runtime.records import Output, Tombstone
from odradek_schemas.events import Event

MOST_NAMES = 100
OTHER = "other"


class Measures(Protocol):
    """The metrics of one worker, of whatever kind."""

    def collectors(self) -> Iterable[Collector]:
        """Its metrics, which are in no registry yet."""

    def committed(self, outputs: Sequence[Output | Tombstone]) -> None:
        """A transaction with these outputs was committed."""


class Tellers:
    """What is to be done with committed events, by their type."""

    def __init__(self, tellers: Mapping[type[Event], Callable[[Any], None]]) -> None:
        self._tellers = tellers

    def committed(self, outputs: Sequence[Output | Tombstone]) -> None:
        for output in outputs:
            if isinstance(output, Output) and (tell := self._tellers.get(type(output.event))):
                tell(output.event)


class Names:
    """The values of a label that come from outside: the first MOST_NAMES stay as they are, all others are `other`.

    A series is kept for ever; names that somebody makes up must not fill a worker's memory.
    """

    def __init__(self) -> None:
        self._known: set[str] = set()

    def of(self, name: str) -> str:
        if name not in self._known:
            if len(self._known) >= MOST_NAMES:
                return OTHER
            self._known.add(name)
        return name
