"""Back-pressure of one partition number, and the way by which a fold posts to itself."""

from collections.abc import Callable

from odradek_runtime.membership import Membership
from odradek_schemas.events import Event


class NumberFlow:
    """The owner's `Flow` over the worker's group consumer."""

    def __init__(self, membership: Membership, number: int) -> None:
        self._membership = membership
        self._number = number

    def want(self, topic: str, wanted: bool) -> None:
        self._membership.want(topic, self._number, wanted)

    def reached(self, topic: str) -> tuple[int | None, int | None]:
        return self._membership.reached(topic, self._number)

    def holds(self) -> bool:
        return self._membership.holds


class Mailbox:
    """Keeps what a fold posts to itself until its owner is there to take it."""

    def __init__(self) -> None:
        self._kept: list[Event] = []
        self._deliver: Callable[[Event], None] = self._kept.append

    def post(self, event: Event) -> None:
        self._deliver(event)

    def open(self, deliver: Callable[[Event], None]) -> None:
        self._deliver = deliver
        for event in self._kept:
            deliver(event)
