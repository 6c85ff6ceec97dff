"""Files of rollouts, checked whole before anything is written, and numbered as rollouts of one run."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from odradek.environment import Environment
from odradek.formats import BadRecord, Format, Record, scan_records
from odradek.formats.foreign import UNKNOWN, Tasks, asked
from odradek.formats.worlds import Seal
from odradek_schemas import ids
from odradek_schemas.events import BadRow, RecordCoordinates, RewardAssigned, TrajectoryFinished
from odradek_schemas.events.results import RECORDED_SCORING
from odradek_schemas.rollouts import Group, Trajectory

MOST_BAD_ROWS = 100
_CHUNK = 1 << 20

Place = tuple[int, int]
"""The number of a task, and of a sample of it."""


@dataclass(frozen=True)
class Origin:
    """The file, and how it is read."""

    path: Path
    format: Format | None
    environment: Environment | None
    tasks: Tasks | None = None

    def scan(self) -> Iterator[tuple[int, Record | BadRecord]]:
        """Raises OSError."""
        return scan_records(self.path, self.format, self.environment, self.tasks)


@dataclass
class Survey:
    """What a first look at a file found: the `places` of its good rows, in order, and the lines of those refused.

    `bad` says why, for the first of them.
    """

    places: list[Place] = field(default_factory=list)
    refused: set[int] = field(default_factory=set)
    bad: list[BadRow] = field(default_factory=list)
    environments: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    unrewarded: int = 0

    @property
    def bad_count(self) -> int:
        return len(self.refused)

    @property
    def samples(self) -> int:
        """How many samples of a task there may be."""
        return 1 + max(sample for _, sample in self.places)

    @cached_property
    def sizes(self) -> Counter[int]:
        """How many rollouts each task has."""
        return Counter(task for task, _ in self.places)

    def refuse(self, line: int, where: str, reason: str) -> None:
        """A row that can't be imported."""
        self.refused.add(line)
        if len(self.bad) < MOST_BAD_ROWS:
            self.bad.append(BadRow(line=line, field=where, reason=reason))


def survey(origin: Origin) -> Survey:
    """Read a file whole, and number its rollouts.

    Where every row names its task and sample, that is what they are; else tasks are numbered as they come up, by what
    their users ask. In memory are some bytes a row.
    """
    found = Survey()
    rows: list[_Row] = []
    for line, record in origin.scan():
        if isinstance(record, BadRecord):
            found.refuse(line, record.field, record.reason)
            continue
        trajectory = record.trajectory
        if origin.environment is not None and trajectory.environment != origin.environment.name:
            found.refuse(
                line, "environment", f"is {trajectory.environment!r}, not {origin.environment.name!r}"
            )
            continue
        found.environments[trajectory.environment] += 1
        found.models[trajectory.model] += 1
        found.unrewarded += record.recorded is None
        rows.append(_row(line, record))
    _number(found, rows)
    return found


def digest_of(path: Path) -> str:
    """BLAKE2b of a file, or of all files of a folder.

    Raises:
        OSError: it can't be read.
    """
    digest = blake2b(digest_size=16)
    for file in sorted(path.rglob("*.parquet")) if path.is_dir() else [path]:
        with file.open("rb") as opened:
            while chunk := opened.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def placed(origin: Origin, found: Survey) -> Iterator[tuple[Record, Place]]:
    """The good rows again, each with its place."""
    good = (
        record
        for line, record in origin.scan()
        if line not in found.refused and not isinstance(record, BadRecord)
    )
    return zip(good, found.places, strict=True)


def adopted(record: Record, run_id: str, place: Place, size: int, seal: Seal) -> Record:
    """The record as a rollout of run `run_id`. Its answer, if it came in the clear, is sealed."""
    task, sample = place
    changes: dict[str, object] = {
        "run_id": run_id,
        "rollout_id": ids.rollout_id(run_id, task, sample),
        "group": Group(task_id=ids.task_id(run_id, task), size=size),
        "sample": sample,
    }
    if record.answer is not None:
        changes["sealed_answer"] = seal(record.answer)
    return record._replace(trajectory=record.trajectory.model_copy(update=changes))


def finished(trajectory: Trajectory, now: datetime) -> TrajectoryFinished:
    """The event that puts a trajectory into the log."""
    return TrajectoryFinished(
        id=f"{trajectory.rollout_id}/trajectory",
        run_id=trajectory.run_id,
        rollout_id=trajectory.rollout_id,
        time=now,
        trajectory=trajectory,
    )


def recorded(record: Record, at: RecordCoordinates, now: datetime) -> RewardAssigned | None:
    """The reward that came along, under the scoring `recorded`; None where none did."""
    trajectory, reward = record.trajectory, record.recorded
    if reward is None:
        return None
    return reward.model_copy(
        update={
            "id": f"{trajectory.rollout_id}/reward/{RECORDED_SCORING}",
            "run_id": trajectory.run_id,
            "rollout_id": trajectory.rollout_id,
            "time": now,
            "scoring": RECORDED_SCORING,
            "group": trajectory.group,
            "sample": trajectory.sample,
            "trajectory": at,
            "samples": [],
        }
    )


def _not_of(environment: Environment | None, trajectory: Trajectory) -> str | None:
    """What is wrong with whose rollout it is."""
    name = trajectory.environment
    if environment is None:
        return "is not said: give --environment" if name == UNKNOWN else None
    return None if name == environment.name else f"is {name!r}, not {environment.name!r}"


@dataclass(frozen=True, slots=True)
class _Row:
    """A good row: its line, what its user asks, and the numbers of its task and sample where they are known."""

    line: int
    digest: bytes
    task: int | None
    sample: int | None


def _row(line: int, record: Record) -> _Row:
    trajectory = record.trajectory
    index = trajectory.group.task_id.rpartition("/")[2]
    return _Row(
        line,
        _digest(trajectory),
        int(index) if record.task_named and index.isdecimal() else None,
        trajectory.sample if record.sample_named and trajectory.sample >= 0 else None,
    )


def _number(found: Survey, rows: list[_Row]) -> None:
    taken: dict[Place, int] = {}
    for row, place in zip(rows, _places(rows), strict=True):
        if place in taken:
            task, sample = place
            reason = f"is sample {sample} of task {task}, as line {taken[place]} is: one file, one run"
            found.refuse(row.line, "", reason)
        else:
            taken[place] = row.line
            found.places.append(place)


def _places(rows: list[_Row]) -> Iterator[Place]:
    """The place of each row: as it is named where all are, else counted."""
    tasks: dict[bytes, int] = {}
    samples: Counter[int] = Counter()
    tasks_named = all(row.task is not None for row in rows)
    samples_named = tasks_named and all(row.sample is not None for row in rows)
    for row in rows:
        task = row.task if tasks_named and row.task is not None else tasks.setdefault(row.digest, len(tasks))
        yield task, row.sample if samples_named and row.sample is not None else samples[task]
        samples[task] += 1


def _digest(trajectory: Trajectory) -> bytes:
    prompt = asked(trajectory.messages[: trajectory.prompt_messages])
    return blake2b(prompt.encode(errors="surrogatepass"), digest_size=16).digest()
