"""Scoring trajectories again, a piece at a time: its rewards and the request for the rest go in one transaction."""

import asyncio

from odradek_runtime.records import Output, Outputs, Record
from odradek_schemas.codec import RecordError
from odradek_schemas.events import RescoreCounts, RescoreFinished, RescoreRequested
from odradek_schemas.topics import RESCORES, REWARDS
from odradek_scoring.assigning import unreadable
from odradek_scoring.scoring import Scoring
from odradek_verifier_worker.judgings import Judgings
from odradek_verifier_worker.trajectories import Piece, Trajectories

MOST_JUDGINGS = 512
"""Scorings that wait for judges before a re-score adds more."""
LOOK_SECONDS = 1.0
"""How long a re-score that found too many of them waits before it asks to be looked at again."""


class Rescores:
    """Those of one partition."""

    def __init__(self, trajectories: Trajectories, judgings: Judgings) -> None:
        self._trajectories = trajectories
        self._judgings = judgings

    async def advance(self, request: RescoreRequested) -> Outputs:
        """Do a piece of the request."""
        if len(self._judgings) >= MOST_JUDGINGS:
            await asyncio.sleep(LOOK_SECONDS)
            return [Output(RESCORES.name, request)]
        piece = await self._trajectories.piece(request.partition, request.start, request.end)
        wanted = [record for record in piece.records if _may_be_wanted(request, record)]
        scored = await asyncio.gather(*(self._score(request, record) for record in wanted))
        outputs = [output for done in scored for output in done or ()]
        found = sum(done is not None for done in scored)
        counts = RescoreCounts(
            scored=request.counts.scored + found,
            skipped=request.counts.skipped + len(piece.records) - found,
        )
        return [*outputs, Output(RESCORES.name, _rest(request, piece, counts))]

    async def _score(self, request: RescoreRequested, record: Record) -> Outputs | None:
        """None: the trajectory is not one of those that are wanted."""
        scoring = Scoring(request.rescore_id, request.verifier, request.settings)
        try:
            event = await self._trajectories.event(record)
        except RecordError as error:
            reward = unreadable(record.envelope.rollout_id, error, record.coordinates, scoring.name)
            return None if reward is None else [Output(REWARDS.name, reward)]
        if request.environment is not None and event.trajectory.environment != request.environment:
            return None
        return await self._judgings.score(event, record.value, record.coordinates, scoring)


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
