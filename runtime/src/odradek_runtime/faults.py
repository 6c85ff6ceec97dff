"""Named moments at which a test can strike a process, so that faults hit the code where they hurt and not by luck.

There are none unless `ODRADEK_FAULTS` names a folder when the process starts: `reach` is then a look into that folder,
otherwise it is an empty function. A fault is ordered by a file `<program>.<point>` whose text is

    <fault> [count]     fault: kill | stop | term      count: which passage is struck, from when it was ordered (1)

The first process that passes takes the order: the file becomes `<program>.<point>.<pid>`. `program` is the console
script without `odradek-`.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

VARIABLE = "ODRADEK_FAULTS"

_SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "term": signal.SIGTERM}


class FaultPoints:
    """The orders in one folder, as one program sees them."""

    def __init__(self, folder: Path, program: str) -> None:
        self._folder = folder
        self._program = program
        self._passed: dict[str, tuple[float, int]] = {}

    def reach(self, point: str) -> None:
        """Carry out what is ordered for `point`, if anything is."""
        order = self._folder / f"{self._program}.{point}"
        try:
            fault, _, count = order.read_text().partition(" ")
            ordered = order.stat().st_mtime
        except FileNotFoundError:
            return
        since, passages = self._passed.get(point, (ordered, 0))
        passages = passages + 1 if since == ordered else 1
        self._passed[point] = (ordered, passages)
        if passages >= int(count or 1) and self._take(order):
            os.kill(os.getpid(), _SIGNALS[fault.strip()])

    def _take(self, order: Path) -> bool:
        """Whether this process is the first to take the order."""
        try:
            order.rename(order.with_name(f"{order.name}.{os.getpid()}"))
        except FileNotFoundError:
            return False
        return True


def _nothing(point: str) -> None:
    """Faults are not ordered in this process."""


def _reach() -> Callable[[str], None]:
    folder = os.environ.get(VARIABLE)
    program = Path(sys.argv[0]).name.removeprefix("odradek-") if sys.argv else ""
    return FaultPoints(Path(folder), program).reach if folder else _nothing


reach = _reach()
