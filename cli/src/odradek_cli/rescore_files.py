"""Scoring the rollouts of a file again, without a log: the same verifiers, in the same kind of pool."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from odradek.environment import Environment
from odradek.formats import Format, Record, read_records
from odradek.formats.foreign import Tasks
from odradek.formats.worlds import needs_world, rebuild
from odradek_cli.rescore_diff import Score
from odradek_runtime.sealing import Opener, SealError
from odradek_schemas.base import JsonObject
from odradek_schemas.events import RecordCoordinates, RewardAssigned, TrajectoryFinished
from odradek_schemas.rollouts import Trajectory
from odradek_scoring import Answers, Bounds, Pool, Scorer, Scoring

_AT_ONCE = 512
_BOUNDS = Bounds(job_seconds=10.0, start_seconds=60.0, memory_mib=4096)
_NOWHERE = RecordCoordinates(topic="file", partition=0, offset=0)


@dataclass(frozen=True)
class Rescored:
    """One rollout of the file; `before` None: the file tells no reward of it."""

    reward: RewardAssigned
    before: Score | None


@dataclass(frozen=True)
class Origin:
    """A file of rollouts. `format` None: each row is looked at. `environment`, `tasks`: for rows of other programs.
    `key`: the private key, for answers that are sealed."""

    path: Path
    format: Format | None = None
    environment: Environment | None = None
    tasks: Tasks | None = None
    key: Path | None = None


async def rescore_file(origin: Origin, scoring: Scoring) -> AsyncIterator[Rescored]:
    """Score all rollouts of a file; memory holds some of them at a time.

    Raises:
        OSError, BadRecord: the file or a row can't be used.
        SealError: the private key can't be read.
        PoolError: verifier processes don't start.
    """
    answers = Answers(_Answers(None if origin.key is None else Opener.from_file(origin.key)))
    scorer = Scorer(Pool(max(1, os.cpu_count() or 1), _BOUNDS), answers)
    records = read_records(origin.path, origin.format, origin.environment, origin.tasks)
    try:
        while some := await asyncio.to_thread(_some, records):
            rewards = await asyncio.gather(*(_scored(scorer, scoring, record, origin) for record in some))
            for record, reward in zip(some, rewards, strict=True):
                yield Rescored(reward, None if record.recorded is None else Score.of(record.recorded))
    finally:
        await scorer.close()


class _Answers(Opener):
    """Opens what is sealed, and what the file tells in the clear."""

    def __init__(self, opener: Opener | None) -> None:
        self._opener = opener

    def open(self, sealed: str) -> JsonObject:
        if sealed.startswith("{"):
            content: JsonObject = json.loads(sealed)
            return content
        if self._opener is None:
            raise SealError("the answer is sealed: give the private key with --key FILE")
        return self._opener.open(sealed)


def _some(records: Iterable[Record]) -> list[Record]:
    return list(islice(records, _AT_ONCE))


async def _scored(scorer: Scorer, scoring: Scoring, record: Record, origin: Origin) -> RewardAssigned:
    if origin.environment is not None and needs_world(origin.environment, record.trajectory):
        record = (await rebuild(origin.environment, record, json.dumps)).record
    return await scorer.score(_event(record), _NOWHERE, scoring)


def _event(record: Record) -> TrajectoryFinished:
    trajectory = _with_answer(record.trajectory, record.answer)
    return TrajectoryFinished(
        id=f"{trajectory.rollout_id}/trajectory",
        run_id=trajectory.run_id,
        rollout_id=trajectory.rollout_id,
        trajectory=trajectory,
    )


def _with_answer(trajectory: Trajectory, answer: JsonObject | None) -> Trajectory:
    if answer is None:
        return trajectory
    return trajectory.model_copy(update={"sealed_answer": json.dumps(answer)})
