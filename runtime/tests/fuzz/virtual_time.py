"""An event loop whose clock jumps, and processes in it that can be stopped or killed between any two steps.

Timeouts cost nothing: when nothing is ready the clock moves to the next timer. Each callback belongs to the process
in whose context it was scheduled, so that a killed process simply runs no further: no `finally`, no farewell.
"""

import asyncio
import heapq
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from datetime import UTC, datetime, tzinfo
from types import SimpleNamespace
from typing import Any

EPOCH = 1_800_000_000.0
"""Where the virtual wall clock starts, seconds of Unix time."""
TICK = 1e-6
MOST_STEPS = 20_000
"""Steps at one moment of virtual time; beyond it something spins."""


class Stuck(Exception):
    """Nothing is ready and no timer is set, or the clock stands still while steps go on."""


class Process:
    """What can be stopped, continued and killed as a whole."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.paused = False
        self._parked: list[asyncio.Handle] = []

    def admits(self, handle: asyncio.Handle) -> bool:
        """Whether a step may run now; else it is kept for when the process goes on, if it ever does."""
        if self.paused or not self.alive:
            self._parked.append(handle)
            return False
        return True

    def pause(self) -> None:
        self.paused = True

    def resume(self, loop: "VirtualLoop") -> None:
        self.alive, self.paused = True, False
        loop.ready(self._parked)
        self._parked = []

    def kill(self) -> None:
        """Run no further. What it was about to do is kept: were it forgotten, its coroutines would unwind now."""
        self.alive = False


PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)


class _Step(asyncio.Handle):
    def _run(self) -> None:
        process = self._context.get(PROCESS)  # type: ignore[attr-defined]
        if process is None or process.admits(self):
            super()._run()


class _Timer(asyncio.TimerHandle):
    def _run(self) -> None:
        process = self._context.get(PROCESS)  # type: ignore[attr-defined]
        if process is None or process.admits(self):
            super()._run()


class VirtualLoop(asyncio.BaseEventLoop):
    """asyncio's own loop without a selector and without waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[dict[str, Any]] = []
        self._now = 0.0
        self._steps = 0
        self._timers = 0
        self.set_exception_handler(lambda _loop, context: self.problems.append(context))

    def time(self) -> float:
        return self._now

    def ready(self, handles: list[asyncio.Handle]) -> None:
        """Run these before what was scheduled later."""
        self._ready.extendleft(reversed(handles))  # type: ignore[attr-defined]

    def run_for(self, seconds: float) -> None:
        """Let `seconds` of virtual time pass."""
        self.call_later(seconds, self.stop)
        self.run_forever()

    def _call_soon(self, callback: Callable[..., Any], args: Any, context: Context | None) -> asyncio.Handle:
        step = _Step(callback, args, self, context)
        self._ready.append(step)  # type: ignore[attr-defined]
        return step

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = _Timer(when, callback, args, self, context)
        self._timers += 1
        heapq.heappush(self._scheduled, (when, self._timers, timer))  # type: ignore[attr-defined]
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass

    def _run_once(self) -> None:
        ready, scheduled = self._ready, self._scheduled  # type: ignore[attr-defined]
        while scheduled and scheduled[0][2]._cancelled:
            heapq.heappop(scheduled)
        if not ready:
            if not scheduled:
                raise Stuck("nothing is ready and no timer is set")
            # Time passes even for a wait so short that adding it changes nothing.
            self._now, self._steps = max(scheduled[0][0], self._now + TICK), 0
        while scheduled and scheduled[0][0] <= self._now:
            ready.append(heapq.heappop(scheduled)[2])
        self._steps += len(ready)
        if self._steps > MOST_STEPS:
            self._steps = 0
            raise Stuck(f"something spins at {self._now:.3f} s: {ready[0]!r:.300}")
        for _ in range(len(ready)):
            step = ready.popleft()
            if not step._cancelled:
                step._run()

    def _write_to_self(self) -> None:
        pass

    def _process_events(self, event_list: Any) -> None:
        pass


class Clock:
    """What `time` and `datetime` tell while a loop is set."""

    def __init__(self) -> None:
        self.loop: VirtualLoop | None = None

    def monotonic(self) -> float:
        return self.loop.time() if self.loop else time.monotonic()

    def time(self) -> float:
        return EPOCH + self.loop.time() if self.loop else time.time()

    def now(self, zone: tzinfo | None = None) -> datetime:
        return datetime.fromtimestamp(self.time(), zone or UTC)


CLOCK = Clock()


@contextmanager
def virtual_clock(*packages: str) -> Iterator[None]:
    """Give the modules of `packages` that look at the clock the virtual one."""
    stand_in = SimpleNamespace(monotonic=CLOCK.monotonic, time=CLOCK.time, perf_counter=CLOCK.monotonic)
    dates = type("VirtualDate", (datetime,), {"now": staticmethod(CLOCK.now)})
    changed: list[tuple[Any, str, Any]] = []
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in packages:
            for attribute, real, virtual in (("time", time, stand_in), ("datetime", datetime, dates)):
                if getattr(module, attribute, None) is real:
                    changed.append((module, attribute, real))
                    setattr(module, attribute, virtual)
    try:
        yield
    finally:
        for module, attribute, real in changed:
            setattr(module, attribute, real)
