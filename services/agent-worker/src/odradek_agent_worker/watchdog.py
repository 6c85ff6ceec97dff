"""A thread that sees a harness which does not yield, notes the rollout in the journal, and ends the process.

The event loop hangs in that harness, so nothing else can be saved: the next owner of the partition reads the note,
ends this one rollout as `harness_stuck`, and plays the others on.
"""

import os
import sys
import threading
import time
import traceback
from collections.abc import Callable

from odradek_agent_worker.watch import Suspect, Watch
from odradek_runtime.logs import get_logger

EXIT_STUCK = 70
"""The process's exit status (EX_SOFTWARE)."""

NOTE_PATIENCE_SECONDS = 10.0
"""How long the process waits for the note, whatever becomes of it."""

LOOKS = 10
"""How often the thread looks within the time that a harness is given."""

log = get_logger(__name__)

Note = Callable[[Suspect, float], None]
"""Writes the note for the next owner: who, and for how many seconds. Blocks; may fail."""


class Watchdog:
    """Watches the thread that created it. `end` ends the process, or, in a test, says that it would."""

    def __init__(
        self, watch: Watch, seconds: float, note: Note, end: Callable[[int], object] = os._exit
    ) -> None:
        self._watch = watch
        self._seconds = seconds
        self._note = note
        self._end = end
        self._watched = threading.get_ident()
        self._stopped = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name="harness-watchdog", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        step, since = self._watch.step, time.monotonic()
        while not self._stopped.wait(self._seconds / LOOKS):
            suspect, now = self._watch.suspect, time.monotonic()
            if suspect is None or self._watch.step != step:
                step, since = self._watch.step, now
            elif now - since >= self._seconds:
                self._bark(suspect, now - since)
                return

    def _bark(self, suspect: Suspect, seconds: float) -> None:
        log.error(
            "harness is stuck; this worker ends itself",
            run_id=suspect.run_id,
            rollout_id=suspect.rollout_id,
            seconds=round(seconds, 1),
            stack=self._stack(),
        )
        writer = threading.Thread(target=self._note, args=(suspect, seconds), daemon=True)
        writer.start()
        writer.join(NOTE_PATIENCE_SECONDS)
        self._end(EXIT_STUCK)

    def _stack(self) -> str:
        frame = sys._current_frames().get(self._watched)
        return "".join(traceback.format_stack(frame)) if frame is not None else ""
