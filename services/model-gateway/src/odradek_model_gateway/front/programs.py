"""The calls of each program that this process knows: those under way, and the last ones that were answered."""

from collections.abc import Callable, Iterator
from datetime import datetime

from odradek_model_gateway.front.live import LiveCall
from odradek_runtime.access import Access
from odradek_schemas.events.base import now

MOST_REMEMBERED = 16
"""Calls of one program that are kept for a client that comes back; earlier ones are in the log."""
_SWEEP_AT = 256


class _Program:
    def __init__(self, access: Access) -> None:
        self.run_id = access.run_id
        self.expires = access.expires
        self.calls: list[LiveCall] = []

    def tidy(self) -> None:
        """Forget the oldest calls that are over."""
        over = [call for call in self.calls if call.done]
        for old in over[: max(0, len(over) - MOST_REMEMBERED)]:
            self.calls.remove(old)


class Programs:
    """Calls by program."""

    def __init__(self, clock: Callable[[], datetime] = now) -> None:
        self._clock = clock
        self._programs: dict[str, _Program] = {}
        self._sweep_at = _SWEEP_AT

    def add(self, access: Access, call: LiveCall) -> None:
        """Remember a call that begins."""
        self._sweep()
        program = self._programs.setdefault(access.program_id, _Program(access))
        program.expires = max(program.expires, access.expires)
        program.calls.append(call)
        call.whenever_done(program.tidy)

    def marked(self, access: Access, mark: str) -> LiveCall | None:
        """The call with this idempotency key, unless it came to nothing."""
        return self._last(access, lambda call: call.mark == mark)

    def same(self, access: Access, digest: str) -> LiveCall | None:
        """The last call with the same body, unless it came to nothing."""
        return self._last(access, lambda call: call.digest == digest)

    def under(self, name: str) -> Iterator[LiveCall]:
        """The calls under way of the program or run called `name`."""
        for program_id, program in self._programs.items():
            if name in (program_id, program.run_id):
                yield from (call for call in program.calls if not call.done)

    def all(self) -> list[LiveCall]:
        """All calls under way."""
        return [call for program in self._programs.values() for call in program.calls if not call.done]

    def under_way(self, access: Access) -> int:
        """How many calls of the program are under way."""
        program = self._programs.get(access.program_id)
        return 0 if program is None else sum(not call.done for call in program.calls)

    def forget(self, name: str) -> None:
        """The program or run called `name` is over: nobody comes back."""
        self._programs = {
            program_id: program
            for program_id, program in self._programs.items()
            if name not in (program_id, program.run_id)
        }

    def _last(self, access: Access, wanted: Callable[[LiveCall], bool]) -> LiveCall | None:
        program = self._programs.get(access.program_id)
        calls = reversed(program.calls) if program is not None else ()
        found = next((call for call in calls if wanted(call)), None)
        return None if found is None or found.failed else found

    def _sweep(self) -> None:
        if len(self._programs) >= self._sweep_at:
            at = self._clock()
            self._programs = {name: a for name, a in self._programs.items() if a.expires > at}
            self._sweep_at = max(_SWEEP_AT, 2 * len(self._programs))
