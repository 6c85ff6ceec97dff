"""What the event loop's thread tells the watchdog's: whose harness runs now. Two plain attributes, no lock."""

from types import TracebackType
from typing import NamedTuple


class Suspect(NamedTuple):
    """The rollout whose harness runs."""

    partition: int
    run_id: str
    rollout_id: str


class Watch:
    """`with watch.over(suspect):` around each run of user code. `step` tells one run of it from the next."""

    __slots__ = ("step", "suspect")

    def __init__(self) -> None:
        self.step = 0
        self.suspect: Suspect | None = None

    def over(self, suspect: Suspect) -> "Watch":
        self.step += 1
        self.suspect = suspect
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.suspect = None
