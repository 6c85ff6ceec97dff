"""The calls of each program that this process knows: those under way, and the last ones that were answered."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from odradek_model_gateway.front.live import LiveCall
from odradek_runtime.access import Access

MOST_REMEMBERED = 16
"""Calls of one program that are kept for a client that comes back; earlier ones are in the log."""
_SWEEP_AT = 256


def _utc_now() -> datetime:
    return datetime.now(UTC)


class _Program:
    def __init__(self, access: Access) -> None:
        self.run_id = access.run_id
        self.expires = access.expires
        self.calls: list[LiveCall] = []


class Programs:
    """Calls by program."""

    def __init__(self, clock: Callable[[], datetime] = _utc_now) -> None:
        self._clock = clock
        self._programs: dict[str, _Program] = {}
        self._sweep_at = _SWEEP_AT

    def add(self, access: Access, call: LiveCall) -> None:
        """Remember a call that begins."""
        self._sweep()
        program = self._programs.setdefault(access.program_id, _Program(access))
        program.expires = max(program.expires, access.expires)
        program.calls.append(call)
        done = [call for call in program.calls if call.done]
        for old in done[: max(0, len(program.calls) - MOST_REMEMBERED)]:
            program.calls.remove(old)

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

    def forget(self, program_id: str) -> None:
        """The program is over: nobody comes back."""
        self._programs.pop(program_id, None)

    def _last(self, access: Access, wanted: Callable[[LiveCall], bool]) -> LiveCall | None:
        program = self._programs.get(access.program_id)
        calls = reversed(program.calls) if program is not None else ()
        found = next((call for call in calls if wanted(call)), None)
        return None if found is None or found.failed else found

    def _sweep(self) -> None:
        if len(self._programs) >= self._sweep_at:
            now = self._clock()
            self._programs = {name: a for name, a in self._programs.items() if a.expires > now}
            self._sweep_at = max(_SWEEP_AT, 2 * len(self._programs))
