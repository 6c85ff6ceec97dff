"""What the worker knows of an owner: the running work of one partition number, stateful or concurrent."""

from typing import Protocol

from odradek_runtime.progress import Positions
from odradek_runtime.records import RawRecord
from odradek_schemas.events import Event


class Owner(Protocol):
    """The work of one partition number, from its acquisition until it is lost or given up."""

    def positions(self) -> dict[str, int]:
        """By input topic: the next offset to fetch."""

    def deliver(self, topic: str, records: list[RawRecord]) -> None:
        """Take fetched records, in order. Those that were delivered before are ignored."""

    def control(self, event: Event) -> None:
        """Take an event of the `control` topic."""

    async def run(self) -> None:
        """Work until cancelled or drained.

        Raises:
            CommitFailedError, FencedError: the owner is of no more use; acquire the number again.
        """

    async def drain(self) -> None:
        """Finish what is under way, commit it, and let `run` return."""

    async def close(self) -> None:
        """Drop everything that is not committed."""

    def commits(self) -> int:
        """Transactions committed so far."""

    def committed(self) -> Positions:
        """The positions of the last transaction, an earlier owner's too; empty before the very first."""

    def backlog(self) -> dict[str, int]:
        """By input topic: records taken and not finished."""


class Flow(Protocol):
    """Back-pressure: what an owner tells the consumer, and asks of it."""

    def want(self, topic: str, wanted: bool) -> None:
        """Pause or resume one input of this number."""

    def reached(self, topic: str) -> tuple[int | None, int | None]:
        """The next offset to fetch, and the end that may be seen; None where not known."""

    def holds(self) -> bool:
        """Whether nobody else can have this number yet: only then may work with effects outside the log begin."""
