"""Which programs' calls are answered no more: tokens live as long as a program may run, and most end long before."""

from collections.abc import Callable
from datetime import datetime, timedelta

from odradek_runtime.access import Access
from odradek_schemas.events import Event, ModelAccessEnded, RunCancelled
from odradek_schemas.events.base import now

LONGEST_ACCESS = timedelta(days=1)
"""How far back the log is read for programs that have ended: few run longer (`Limits.program_seconds`).

Of one that does and ended before that, a gateway started since knows nothing: it answers until the token expires."""
_SWEEP_AT = 1024


class Ended:
    """What has ended, and why. `on_end` is told each program or run once."""

    def __init__(self, on_end: Callable[[str, str], None], clock: Callable[[], datetime] = now) -> None:
        self._on_end = on_end
        self._clock = clock
        self._programs: dict[str, tuple[str, datetime]] = {}
        self._runs: dict[str, str] = {}
        self._sweep_at = _SWEEP_AT

    def take(self, event: Event) -> None:
        """An event of `model-access` or `control`."""
        if isinstance(event, ModelAccessEnded):
            self._programs[event.program_id] = (event.reason, event.expires)
            self._sweep()
            self._on_end(event.program_id, event.reason)
        elif isinstance(event, RunCancelled):
            self._runs[event.run_id] = event.reason
            self._on_end(event.run_id, f"run {event.run_id} was cancelled: {event.reason}")

    def why(self, access: Access) -> str | None:
        """Why its calls are not answered any more; None: they are."""
        if access.program_id in self._programs:
            return self._programs[access.program_id][0]
        if access.run_id in self._runs:
            return f"run {access.run_id} was cancelled: {self._runs[access.run_id]}"
        return None

    def _sweep(self) -> None:
        """Forget those whose tokens have expired by themselves."""
        if len(self._programs) >= self._sweep_at:
            at = self._clock()
            self._programs = {name: end for name, end in self._programs.items() if end[1] > at}
            self._sweep_at = max(_SWEEP_AT, 2 * len(self._programs))
