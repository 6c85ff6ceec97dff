"""What may be purged (pure): of what workers read, only what each of them has done with, and what is old enough."""

from collections.abc import Mapping

from odradek_runtime.positions import Position
from odradek_schemas.topics import AGENT, JOURNAL, TASKS, TOPICS, WORKERS, Topic

Commits = Mapping[str, Mapping[tuple[str, int], Position]]
"""By worker: what its group committed, by logical topic and partition."""

Part = tuple[str, int]
"""A topic's logical name, and a partition."""


def purged_topics() -> list[Topic]:
    """The topics that the purger alone shortens."""
    return [topic for topic in TOPICS if topic.purged]


def readers(topic: Topic) -> list[str]:
    """The workers that read a topic."""
    return [worker for worker in WORKERS if worker in topic.read_by]


def unread_bounds(commits: Commits, partitions: int) -> dict[Part, int]:
    """Below which offset no worker needs anything any more, by part.

    A part is left out while a worker that reads it has committed nothing there: it may still begin at the start.
    """
    bounds: dict[Part, int] = {}
    for topic in purged_topics():
        for partition in range(partitions):
            bound = _bound(topic, partition, commits)
            if bound is not None:
                bounds[topic.name, partition] = bound
    return bounds


def purge_offsets(
    unread: Mapping[Part, int], first_kept: Mapping[Part, int | None], starts: Mapping[Part, int]
) -> dict[Part, int]:
    """Before which offset to delete, by part; those with nothing to delete are left out.

    `first_kept`: the first record that is young enough to be kept for people, None: all are older.
    `starts`: where the log begins now.
    """
    offsets = {}
    for part, bound in unread.items():
        kept = first_kept.get(part)
        offset = bound if kept is None else min(bound, kept)
        if offset > starts.get(part, 0):
            offsets[part] = offset
    return offsets


def _bound(topic: Topic, partition: int, commits: Commits) -> int | None:
    if topic is JOURNAL:
        # The agent-worker restores from it; where from is kept with its position in `tasks`.
        anchor = commits.get(AGENT, {}).get((TASKS.name, partition))
        return None if anchor is None else anchor.restore_point
    positions = [commits.get(worker, {}).get((topic.name, partition)) for worker in readers(topic)]
    known = [position.lowest for position in positions if position is not None]
    return min(known) if known and len(known) == len(positions) else None
