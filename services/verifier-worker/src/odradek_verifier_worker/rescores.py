"""Scoring trajectories again, a piece at a time: its rewards and the request for the rest go in one transaction."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable

from odradek_runtime.records import Output, Outputs, Record
from odradek_schemas.codec import RecordError
from odradek_schemas.events import (
    RescoreCounts,
    RescoreFinished,
    RescoreRequested,
    RewardAssigned,
    TrajectoryFinished,
)
from odradek_schemas.topics import RESCORES, REWARDS
from odradek_scoring.assigning import unreadable
from odradek_scoring.exchange import Verdict
from odradek_scoring.scorer import Scorer
from odradek_scoring.scoring import Scoring
from odradek_verifier_worker.judgings import Judgings
from odradek_verifier_worker.trajectories import MOST_RECORDS, Piece, Trajectories

MOST_JUDGINGS = 512
"""Scorings that wait for judges before a re-score adds more."""
MOST_BEGUN = 256
"""Trajectories of a piece that are verified at a time: the more of them are in memory, the more each costs."""
FIRST_RECORDS = 16
PIECE_SECONDS = 1.0
"""How long a piece should take."""
LOOK_SECONDS = 1.0
"""How long a re-score that found too many of them waits before it asks to be looked at again."""


class Pace:
    """How many records make a piece, by how long the last ones took: live scoring waits behind each, and so do those who
    look on. A verifier that hangs is met with few."""

    def __init__(self) -> None:
        self.records = FIRST_RECORDS

    def took(self, seconds: float) -> None:
        if seconds < PIECE_SECONDS:
            self.records = min(MOST_RECORDS, 2 * self.records)
        elif seconds > 4 * PIECE_SECONDS:
            self.records = max(1, self.records // 4)


class Rescores:
    """Those of one partition."""

    def __init__(self, trajectories: Trajectories, scorer: Scorer, judgings: Judgings) -> None:
        self._trajectories = trajectories
        self._scorer = scorer
        self._judgings = judgings
        self._pace = Pace()

    async def advance(self, request: RescoreRequested) -> Outputs:
        """Do a piece of the request."""
        if len(self._judgings) >= MOST_JUDGINGS:
            await asyncio.sleep(LOOK_SECONDS)
            return [Output(RESCORES.name, request)]
        began = time.monotonic()
        piece = await self._trajectories.piece(
            request.partition, request.start, request.end, self._pace.records
        )
        made = await self._scored(request, piece)
        self._pace.took(time.monotonic() - began)
        outputs = [output for of_one in made for output in of_one]
        found = sum(bool(of_one) for of_one in made)
        counts = RescoreCounts(
            scored=request.counts.scored + found,
            skipped=request.counts.skipped + len(piece.records) - found,
        )
        return [*outputs, Output(RESCORES.name, _rest(request, piece, counts))]

    async def _scored(self, request: RescoreRequested, piece: Piece) -> list[Outputs]:
        """What comes of each trajectory that is wanted. Of trajectories themselves few are in memory at a time."""
        scoring = Scoring(request.rescore_id, request.verifier, request.settings)
        made: list[Outputs] = []
        begun: deque[Awaitable[Outputs]] = deque()
        for record in piece.records:
            scored = await self._begin(request, scoring, record)
            if scored is not None:
                begun.append(scored)
            if len(begun) >= MOST_BEGUN:
                made.append(await begun.popleft())
        return made + [await scored for scored in begun]

    async def _begin(
        self, request: RescoreRequested, scoring: Scoring, record: Record
    ) -> Awaitable[Outputs] | None:
        """Submit a trajectory; None: it is not one of those that are wanted."""
        if not _may_be_wanted(request, record):
            return None
        try:
            event = await self._trajectories.event(record)
        except RecordError as error:
            if request.environment is not None:
                return None  # whose it is, nobody can tell
            return _given(unreadable(record.envelope.rollout_id, error, record.coordinates, scoring.name))
        if request.environment is not None and event.trajectory.environment != request.environment:
            return None
        return self._end(event, record, scoring, self._scorer.submit(event, record.value, scoring))

    async def _end(
        self, event: TrajectoryFinished, record: Record, scoring: Scoring, verdict: Awaitable[Verdict]
    ) -> Outputs:
        return self._judgings.begin(event, record.coordinates, scoring, await verdict)


async def _given(reward: RewardAssigned | None) -> Outputs:
    return [] if reward is None else [Output(REWARDS.name, reward)]


def _may_be_wanted(request: RescoreRequested, record: Record) -> bool:
    """By its headers alone."""
    return bool(record.envelope.rollout_id) and request.run_id in (None, record.envelope.run_id)


def _rest(
    request: RescoreRequested, piece: Piece, counts: RescoreCounts
) -> RescoreRequested | RescoreFinished:
    if piece.next >= request.end:
        return RescoreFinished(
            id=f"{request.rescore_id}/{request.partition}/finished",
            rescore_id=request.rescore_id,
            partition=request.partition,
            counts=counts,
        )
    changes = {
        "id": f"{request.rescore_id}/{request.partition}/{piece.next}",
        "start": piece.next,
        "counts": counts,
    }
    return request.model_copy(update=changes)
