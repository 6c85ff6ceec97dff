"""Whether everybody is there whom a run needs: looked at every second, beside whoever follows the run."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime

from aiokafka.errors import KafkaError

from odradek_cli import local
from odradek_cli.deployment import Deployment
from odradek_cli.kafka import Log
from odradek_runtime.groups import ASK_SECONDS, INPUTS, STARTING, Groups, open_groups
from odradek_runtime.positions import PositionError
from odradek_schemas.topics import AGENT, ENV, GATEWAY, PRODUCER, VERIFIER, WORKERS

LOOK_SECONDS = 1.0

DOES = {
    PRODUCER: "no rollout is admitted or counted",
    AGENT: "no rollout moves",
    ENV: "no tool is carried out",
    VERIFIER: "no reward is given",
    GATEWAY: "no model is asked",
}
"""What stands still while no worker of a kind is there."""

_ALWAYS = (PRODUCER, AGENT)
"""Needed as long as a run goes on. The others may be scaled to none while nothing waits for them."""


@dataclass(frozen=True)
class Absence:
    """Somebody who is missing, as a person is told: who, what that means, and since when it is known."""

    who: str
    meaning: str
    since: datetime

    def __str__(self) -> str:
        return f"{self.who} since {self.since:%H:%M:%S}: {self.meaning}"


@dataclass
class Attendance:
    """Who is missing, as of the last look."""

    absences: tuple[Absence, ...] = ()
    _known: dict[str, Absence] = field(default_factory=dict)

    def note(self, missing: Iterable[tuple[str, str]]) -> None:
        """Take in who is missing now, and what that means; who was missing before stays so since then."""
        now = datetime.now().astimezone()
        known = {who: self._known.get(who) or Absence(who, meaning, now) for who, meaning in missing}
        self._known, self.absences = known, tuple(known.values())

    def longest(self) -> float:
        """For how many seconds somebody has been missing."""
        now = datetime.now().astimezone()
        return max(((now - absence.since).total_seconds() for absence in self.absences), default=0.0)


@asynccontextmanager
async def attended(log: Log) -> AsyncIterator[Attendance]:
    """Look every second, for as long as the context lasts."""
    attendance = Attendance()
    looking = asyncio.create_task(_keep_looking(log, attendance))
    try:
        yield attendance
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking


async def _keep_looking(log: Log, attendance: Attendance) -> None:
    while True:
        attendance.note(await missing(log))
        await asyncio.sleep(LOOK_SECONDS)


async def missing(log: Log) -> list[tuple[str, str]]:
    """Who is missing now, each with what that means."""
    deployment = log.deployment
    gone = _gone_locally(deployment)
    if gone:
        return gone
    try:
        async with open_groups(deployment.brokers, deployment.names) as groups:
            return [(f"no {worker}", DOES[worker]) for worker in WORKERS if await _lacks(worker, groups, log)]
    except STARTING as error:
        return [(f"Kafka at {deployment.brokers} is not ready", str(error))]
    except (KafkaError, OSError, TimeoutError) as error:
        why = "no answer" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        return [(f"Kafka at {deployment.brokers} does not answer", why)]


async def _lacks(worker: str, groups: Groups, log: Log) -> bool:
    """Whether no worker of a kind lives, and somebody waits for one."""
    if await groups.members(worker):
        return False
    return worker in _ALWAYS or await _waited_for(worker, groups, log)


async def _waited_for(worker: str, groups: Groups, log: Log) -> bool:
    """Whether there are records that the workers of a kind have not finished."""
    parts = [(topic.name, number) for topic in INPUTS[worker] for number in range(log.partitions)]
    try:
        positions = await groups.positions(worker, parts)
    except PositionError:
        return True  # whatever it says, nobody lives who wrote it
    async with asyncio.timeout(ASK_SECONDS):
        bounds = await log.bounds(parts)
    starts = {part: position.lowest for part, position in positions.items()}
    return any(end > starts.get(part, start) for part, (start, end) in bounds.items())


def _gone_locally(deployment: Deployment) -> list[tuple[str, str]]:
    """The local stack's supervisor sees at once who has ended, well before the groups do."""
    state = local.stack_state() if deployment.local else None
    if state is None or state.status not in ("stopped", "failed"):
        return []
    return [("the local stack does not run", state.error or f"it is {state.status}")]
