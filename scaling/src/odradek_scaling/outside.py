"""What the log and the groups tell of a pool: also when none of its workers lives to tell it.

The workers tell their groups about once a second how far they are, with the list of what they have begun and not
finished (`odradek_runtime.positions`). What lies behind is not all work: transactions end in markers, which take
offsets, and aborted ones leave records that nobody reads. A worker that is idle commits the position behind them, but
nobody does so for a pool that is empty, or that was killed a moment ago. So where few offsets are left their records
are counted by reading them, and an idle pool has a backlog of exactly 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from odradek_runtime.groups import INPUTS, Groups, Part
from odradek_runtime.positions import Position
from odradek_runtime.tails import Tails
from odradek_scaling.load import LoadUnknownError

COUNTED_OFFSETS = 64
"""From where a worker stands to the end of a partition: up to so many the records are read and counted. Where more is
left transactions are large, and markers few."""

Span = tuple[int, int]


@dataclass(frozen=True)
class Outside:
    """A pool as the log and its group have it. `begun`: records that its workers list as begun and not finished.

    `owned`: the partition numbers that the group has given to its members, of `partitions` that there are.
    """

    backlog: int
    begun: int
    members: int
    owned: int
    partitions: int = 1


async def look_at(pool: str, groups: Groups, tails: Tails) -> Outside:
    """One look at a pool.

    Raises:
        KafkaError, TimeoutError: no answer.
        PositionError: what a group has committed is not ours.
        LoadUnknownError: its topics are not there.
    """
    members = await groups.members(pool)
    parts = await _parts(pool, groups)
    positions = await groups.positions(pool, parts)
    bounds = await tails.bounds(parts)  # after the positions: what comes in between counts, and nothing twice
    begun = sum(len(position.unfinished) for position in positions.values())
    return Outside(
        backlog=begun + await _waiting(unread(positions, bounds), tails),
        begun=begun,
        members=len(members),
        owned=sum(len(member.numbers) for member in members),
        partitions=1 + max(number for _topic, number in parts),
    )


def unread(positions: Mapping[Part, Position], bounds: Mapping[Part, Span]) -> dict[Part, Span]:
    """From the first offset that was never handed out to the end, where there is anything in between."""
    spans = {}
    for part, (start, end) in bounds.items():
        position = positions.get(part)
        begin = start if position is None else max(start, position.offset)
        if begin < end:
            spans[part] = (begin, end)
    return spans


async def _waiting(spans: Mapping[Part, Span], tails: Tails) -> int:
    lengths = {part: end - begin for part, (begin, end) in spans.items()}
    few = {part: spans[part] for part, length in lengths.items() if length <= COUNTED_OFFSETS}
    many = sum(length for part, length in lengths.items() if part not in few)
    return many + (sum((await tails.count(few)).values()) if few else 0)


async def _parts(pool: str, groups: Groups) -> list[Part]:
    partitions = await groups.partitions()
    missing = [topic.name for topic in INPUTS[pool] if not partitions.get(topic.name)]
    if missing:
        raise LoadUnknownError(f"topics of {pool} are missing: {', '.join(missing)}; `odradek topics apply`")
    return [(topic.name, number) for topic in INPUTS[pool] for number in range(partitions[topic.name])]
