"""What the log and the groups tell of a pool: also when none of its workers lives to tell it.

The workers tell their groups about once a second how far they are, with the list of what they have begun and not
finished (`odradek_runtime.positions`). What lies behind is not all work: transactions end in markers, which take
offsets, and aborted ones leave records that nobody reads. A worker that is idle commits the position behind them, but
nobody does so for a pool that is empty, or that was killed a moment ago. So where few offsets are left their records
are counted by reading them, and an idle pool has a backlog of exactly 0.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from odradek_runtime.groups import INPUTS, Groups, Member, Part
from odradek_runtime.positions import Position, PositionError
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


async def look(pools: Collection[str], groups: Groups, tails: Tails) -> dict[str, Outside | LoadUnknownError]:
    """One look at some pools, all at the same time; or, for one of them, why it can't be told.

    Raises:
        KafkaError, TimeoutError: no answer.
    """
    partitions = await groups.partitions()
    seen = await asyncio.gather(*(_look(pool, groups, partitions) for pool in pools))
    sights = [sight for sight in seen if isinstance(sight, _Sight)]
    # After the positions: what comes in between counts, and nothing twice.
    bounds = await tails.bounds([part for sight in sights for part in sight.parts])
    positions = {part: position for sight in sights for part, position in sight.positions.items()}
    waiting = await _counted(unread(positions, bounds), tails)
    return {
        pool: sight.outside(waiting) if isinstance(sight, _Sight) else sight
        for pool, sight in zip(pools, seen, strict=True)
    }


@dataclass(frozen=True)
class _Sight:
    """What a pool's group tells, before the log is looked at. A topic is the input of one pool alone."""

    pool: str
    parts: Sequence[Part]
    members: Sequence[Member]
    positions: Mapping[Part, Position]

    def outside(self, waiting: Mapping[Part, int]) -> Outside:
        begun = sum(len(position.unfinished) for position in self.positions.values())
        return Outside(
            backlog=begun + sum(waiting.get(part, 0) for part in self.parts),
            begun=begun,
            members=len(self.members),
            owned=sum(len(member.numbers) for member in self.members),
            partitions=1 + max(number for _topic, number in self.parts),
        )


async def _look(pool: str, groups: Groups, partitions: Mapping[str, int]) -> _Sight | LoadUnknownError:
    missing = [topic.name for topic in INPUTS[pool] if not partitions.get(topic.name)]
    if missing:
        return LoadUnknownError(f"topics of {pool} are missing: {', '.join(missing)}; `odradek topics apply`")
    parts = [(topic.name, number) for topic in INPUTS[pool] for number in range(partitions[topic.name])]
    try:
        members, positions = await asyncio.gather(groups.members(pool), groups.positions(pool, parts))
    except PositionError as error:
        return LoadUnknownError(f"positions of {pool}: {error}")
    return _Sight(pool, parts, members, positions)


def unread(positions: Mapping[Part, Position], bounds: Mapping[Part, Span]) -> dict[Part, Span]:
    """From the first offset that was never handed out to the end, where there is anything in between."""
    spans = {}
    for part, (start, end) in bounds.items():
        position = positions.get(part)
        begin = start if position is None else max(start, position.offset)
        if begin < end:
            spans[part] = (begin, end)
    return spans


async def _counted(spans: Mapping[Part, Span], tails: Tails) -> dict[Part, int]:
    """How many records each span has: read where it is short, else its offsets."""
    lengths = {part: end - begin for part, (begin, end) in spans.items()}
    short = {part: spans[part] for part, length in lengths.items() if length <= COUNTED_OFFSETS}
    return lengths | (await tails.count(short) if short else {})
