"""What tools do, to the state of their session and to the world outside, when their worker is killed."""

from collections import Counter
from dataclasses import dataclass

from odradek_schemas.events import ToolCallCompleted
from odradek_schemas.rollouts import Limits
from tests.chaos.arena import Field
from tests.chaos.scenario import Check, Load, Scenario
from tests.chaos.scenarios.code import WORLD, Row, row
from tests.chaos.strikes import End, Progress, Victim
from tests.chaos.workers import ENV

EARLY = Progress("observations", 8, 40)


def adding() -> list[Row]:
    """The counter shows at the end whether each call was applied exactly once."""
    return [row(*(("add", {"amount": number}) for number in range(1, 6)), expected=15)]


def writing() -> list[Row]:
    """Each rollout writes to two notes of its own, one of which must not be written twice."""
    calls = [("write_once", {"name": "once"}), ("add", {"amount": 1}), ("write_again", {"name": "again"})]
    return [row(*calls, expected=1)]


@dataclass(frozen=True)
class Notes:
    """`once` has one line at most, none only where the agent was told that the call was interrupted."""

    async def problems(self, on: Field) -> list[str]:
        notes = on.arena.stack.faults.with_name("notes")
        lines = {note.name: len(note.read_text().splitlines()) for note in notes.iterdir()}
        for note in notes.iterdir():
            note.unlink()
        written = Counter(name.partition("-")[0] for name in lines)
        twice = [name for name, count in lines.items() if name.startswith("once") and count > 1]
        told = await _interrupted(on)
        planned = on.scenario.load.samples
        problems = [f"written twice: {twice}"] if twice else []
        if written["once"] + told < planned:
            problems.append(f"{written['once']} of {planned} wrote, and {told} were told of an interruption")
        if written["again"] != planned:
            problems.append(f"{written['again']} of {planned} wrote what may be written again")
        return problems


@dataclass(frozen=True)
class Told:
    """Agents whose calls were noted as begun when their worker was struck were told so: one transaction notes several."""

    async def problems(self, on: Field) -> list[str]:
        told, most = await _interrupted(on), on.scenario.load.concurrency
        return [] if 0 < told <= most else [f"{told} calls were told to be interrupted, not 1 to {most}"]


async def _interrupted(on: Field) -> int:
    seen = await on.arena.stack.log.read(on.run, "observations")
    events = [event for event in seen.events["observations"] if isinstance(event, ToolCallCompleted)]
    return sum(event.interrupted for event in events)


def struck(name: str, moment: str, load: Load, checks: tuple[Check, ...], *strikes: End) -> Scenario:
    return Scenario(f"effect/{name}", ENV, moment, "SIGKILL", strikes, load=load, checks=checks, ground=WORLD)


LIMITS = Limits(rollout_seconds=110)
ADDING = Load("chaos", "planned", adding, samples=24, concurrency=12, limits=LIMITS)
WRITING = Load("chaos", "planned", writing, samples=24, concurrency=12, limits=LIMITS)
BETWEEN = "between a tool's effect and its observation"

SCENARIOS = (
    struck(
        "state",
        f"{BETWEEN}, and again as the observation is committed",
        ADDING,
        (),
        End((Victim(ENV),), "tool.done", after=EARLY),
        End((Victim(ENV),), "commit.open", after=None),
    ),
    struck(
        "outside",
        f"{BETWEEN}, outside the session",
        WRITING,
        (Notes(),),
        End((Victim(ENV),), "tool.done", after=EARLY),
    ),
    struck(
        "started",
        "between the note that a tool is begun and its beginning",
        WRITING,
        (Told(), Notes()),
        End((Victim(ENV),), "tool.started", after=EARLY, passage=(1, 2)),
    ),
)
