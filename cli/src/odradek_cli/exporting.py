"""The rollouts of a run, read from the log as records: each trajectory with the rewards that it ever got."""

from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from odradek.formats import Format, Record, open_writer
from odradek_cli.kafka import Log
from odradek_cli.runs import Run
from odradek_schemas.codec import Envelope
from odradek_schemas.events import RewardAssigned
from odradek_schemas.topics import REWARDS, TRAJECTORIES


@dataclass(frozen=True)
class Wanted:
    """Which rollouts are exported: `minimum` is the least reward of `scoring`; None: any, none at all too."""

    scoring: str
    minimum: float | None = None
    scored: bool = False

    def takes(self, record: Record) -> bool:
        reward = record.reward(self.scoring)
        if reward is None or reward.reward is None:
            return self.minimum is None and not self.scored
        return self.minimum is None or reward.reward >= self.minimum


@dataclass(frozen=True)
class Exported:
    """What an export came to: rollouts written, the rows that they made, and rollouts left out."""

    rollouts: int
    rows: int
    left_out: int


async def records_of(log: Log, run: Run) -> AsyncIterator[Record]:
    """The records of a run, partition by partition.

    In memory are the rewards of one partition, without their samples, which the trajectories' tokens make again.
    """

    def of_run(envelope: Envelope) -> bool:
        return envelope.run_id == run.id

    since = run.request.time
    for partition in range(log.partitions):
        rewards: dict[str, list[RewardAssigned]] = defaultdict(list)
        async for found in log.stream(REWARDS, [partition], of_run, since):
            rewards[found.event.rollout_id].append(found.event.model_copy(update={"samples": []}))
        async for found in log.stream(TRAJECTORIES, [partition], of_run, since):
            yield Record(found.event.trajectory, tuple(rewards.pop(found.event.rollout_id, ())))


async def export(log: Log, run: Run, path: Path, format: Format, wanted: Wanted) -> Exported:
    """Write a run's rollouts to a file, or to a folder.

    Raises:
        OSError: it can't be written, or is there already.
        PyarrowMissing: the format is Parquet's, and pyarrow is not installed.
    """
    rollouts = rows = left_out = 0
    with open_writer(path, format, wanted.scoring) as writer:
        async for record in records_of(log, run):
            if wanted.takes(record):
                rows += writer.add(record)
                rollouts += 1
            else:
                left_out += 1
    return Exported(rollouts, rows, left_out)
