"""The server of the gateways' shared limits, struck: it comes back empty, or goes on as if nothing had been."""

import asyncio
import time
from dataclasses import dataclass

from tests.chaos.arena import Field
from tests.chaos.scenario import Expected, Load, Recovery, Scenario
from tests.chaos.strikes import End, Freeze, Progress, Victim
from tests.chaos.workers import GATEWAY, VALKEY

STRUCK = "Valkey (Redis)"
FROZEN_SECONDS = 10.0
LOST, FOUND = "limits are not shared any more", "limits are shared again"
FOUND_WITHIN_SECONDS = 5.0
BEFORE_ANY_CALL = Progress("tasks", 1, 1)
WITH_CALLS = Progress("rewards", 4, 8)


@dataclass(frozen=True)
class SharedAgain:
    """As often as the gateway said that it had lost the limits, it says that they are shared again."""

    async def problems(self, on: Field) -> list[str]:
        log, end = on.arena.workers.part(GATEWAY).log, time.monotonic() + FOUND_WITHIN_SECONDS
        while True:
            text = log.read_text(errors="replace")
            lost, found = text.count(LOST), text.count(FOUND)
            if lost == found:
                return []
            if time.monotonic() > end:
                return [f"the limits were lost {lost} times, and found again {found} times"]
            await asyncio.sleep(0.1)


def scenario(name: str, moment: str, fault: str, strike: End | Freeze, samples: int = 16) -> Scenario:
    """Two gateways, whose calls go on: no call is made twice."""
    return Scenario(
        f"redis/{name}",
        STRUCK,
        moment,
        fault,
        (strike,),
        load=Load(model="tool_loop_limited", samples=samples, concurrency=24),
        second=(GATEWAY,),
        expected=Expected(repeats_each=0),
        checks=(SharedAgain(),),
        recovery=Recovery.NONE,
    )


SERVER = Victim(VALKEY)
KILLED = "SIGKILL; it comes back empty"
FROZEN = f"SIGSTOP for {FROZEN_SECONDS:.0f} s, then SIGCONT"

SCENARIOS = (
    scenario("early/kill", "before the first call", KILLED, End((SERVER,), after=BEFORE_ANY_CALL)),
    scenario("any/kill", "with calls under way", KILLED, End((SERVER,), after=WITH_CALLS)),
    scenario(
        "any/freeze", "with calls under way", FROZEN, Freeze(SERVER, FROZEN_SECONDS, after=WITH_CALLS), 56
    ),
)
