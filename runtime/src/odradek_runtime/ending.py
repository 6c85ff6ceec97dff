"""The end of a process, whatever still runs in it.

Python waits for its threads before it ends, without a limit: one that hangs in user code or in a file system that
does not answer would keep a worker that has drained, or that can't go on, from ever being replaced.
"""

import faulthandler
import threading
from os import _exit as exit_at_once

LAST_SECONDS = 5.0
"""From the end of a worker's work to the end of its process."""


def end_within(seconds: float, code: int) -> None:
    """End this process with exit status `code` in `seconds`, if it has not ended by itself."""
    last = threading.Timer(seconds, _end, (code,))
    last.daemon = True
    last.start()


def _end(code: int) -> None:
    """Say where each thread is, and end."""
    faulthandler.dump_traceback()
    exit_at_once(code)
