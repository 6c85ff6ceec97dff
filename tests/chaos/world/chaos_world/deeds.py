"""What no tool and no verifier should do."""

import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

_MOST_SECONDS = 120.0
"""So long at most lasts what would last for ever: what a test forgets to end must end."""

_BITE_BYTES = 32 << 20
_MEAL_BYTES = 3 << 30
"""A process whose memory is not bounded survives it, and so does the machine."""


def perform(deed: str, note: Path) -> str:
    """Do it; `note` names a file that tells whether it was done before."""
    return DEEDS[deed](note)


def loop(note: Path) -> str:
    """Never come back. A little sleep in between: the machine has other tests to run."""
    until = time.monotonic() + _MOST_SECONDS
    while time.monotonic() < until:
        time.sleep(0.01)
    return "too late"


def hold_interpreter(note: Path) -> str:
    """Never come back and let no other thread run: a regular expression that backtracks without end."""
    re.match(r"(a+)+$", "a" * 64 + "b")
    return "matched"


def raise_error(note: Path) -> str:
    raise ValueError("nobody expected this")


def eat(note: Path) -> str:
    """Take more and more memory."""
    meal = []
    while len(meal) * _BITE_BYTES < _MEAL_BYTES:
        meal.append(b"x" * _BITE_BYTES)
    return "full"


def leave(note: Path) -> str:
    """End the process, as a crash in native code would."""
    os._exit(3)


def kill(note: Path) -> str:
    """End the process as the kernel does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(_MOST_SECONDS)
    return "survived"


def kill_once(note: Path) -> str:
    """End the process the first time."""
    note.parent.mkdir(exist_ok=True)
    try:
        note.touch(exist_ok=False)
    except FileExistsError:
        return "calm now"
    return kill(note)


def nap(note: Path) -> str:
    time.sleep(3.0)
    return "rested"


def exit_politely(note: Path) -> str:
    sys.exit("bye")


def garbage(note: Path) -> str:
    """Write to where nobody reads."""
    junk = os.urandom(64 * 1024)
    for stream in (1, 2):
        os.write(stream, junk)
    return "written"


DEEDS: dict[str, Callable[[Path], str]] = {
    deed.__name__: deed
    for deed in (
        loop,
        hold_interpreter,
        raise_error,
        eat,
        leave,
        kill,
        kill_once,
        nap,
        exit_politely,
        garbage,
    )
}
