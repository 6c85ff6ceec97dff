"""A piece of a re-score: what it brings, and what it counts."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from odradek_runtime.blobs import open_blob_store
from odradek_runtime.intake import Intake
from odradek_runtime.names import Names
from odradek_runtime.records import Output, Record
from odradek_schemas.base import JsonObject
from odradek_schemas.codec import CLAIM_CHECK_BYTES
from odradek_schemas.events import RescoreFinished, RescoreRequested, RewardAssigned, TrajectoryFinished
from odradek_schemas.failures import FailureKind
from odradek_scoring import Answers, Pool, Scorer
from odradek_verifier_worker.judgings import Judgings
from odradek_verifier_worker.rescores import Rescores
from odradek_verifier_worker.trajectories import Piece, Trajectories, weight

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOW = datetime(2026, 1, 1, tzinfo=UTC)
Finished = Callable[..., TrajectoryFinished]
MakeRecord = Callable[..., Record]


class Held(Trajectories):
    """A partition that the test fills."""

    def __init__(self) -> None:
        intake = Intake("verifier-worker", open_blob_store("file:///nowhere"))
        super().__init__("127.0.0.1:1", Names("t."), intake)
        self.records: list[Record] = []

    async def piece(self, partition: int, start: int, end: int, most: int) -> Piece:
        return Piece(self.records[start:end], end)


class Unsealed(Answers):
    def open(self, sealed: str | None) -> JsonObject | None:
        return {"expected": "B"}


@pytest.fixture
def held() -> Held:
    return Held()


@pytest_asyncio.fixture(loop_scope="module")
async def rescores(pool: Pool, held: Held) -> AsyncIterator[Rescores]:
    scorer = Scorer(pool, Unsealed(None))
    yield Rescores(held, scorer, Judgings(scorer, held.read, 60.0, lambda: NOW))


async def advanced(
    rescores: Rescores, held: Held, environment: str | None = None, verifier: str | None = None
) -> tuple[list[RewardAssigned], RescoreFinished]:
    asked = RescoreRequested(
        id="x",
        rescore_id="x",
        partition=2,
        environment=environment,
        verifier=verifier,
        start=0,
        end=len(held.records),
    )
    *others, last = [output.event for output in await rescores.advance(asked) if isinstance(output, Output)]
    assert isinstance(last, RescoreFinished)
    return [event for event in others if isinstance(event, RewardAssigned)], last


def damaged(record: Record, **changes: str) -> Record:
    return record._replace(value=b"{", envelope=record.envelope._replace(**changes))


async def test_it_counts_as_scored_what_has_or_will_have_a_reward(
    rescores: Rescores, held: Held, finished: Finished, record: MakeRecord
) -> None:
    """Who looks on waits for so many rewards: one too many, and it waits for ever."""
    good, asking = record(finished("raise_error")), record(finished("ask", sample=1))
    held.records = [good, damaged(good), damaged(good, rollout_id="run/0/none"), asking, asking]
    rewards, last = await advanced(rescores, held)
    assert [reward.failure.kind for reward in rewards if reward.failure] == [
        FailureKind.VERIFIER_ERROR,
        FailureKind.UNREADABLE_RECORD,
    ]
    assert (last.counts.scored, last.counts.skipped) == (3, 2)


async def test_what_can_not_be_read_is_of_no_environment(
    rescores: Rescores, held: Held, finished: Finished, record: MakeRecord
) -> None:
    good = record(finished("raise_error"))
    held.records = [damaged(good), good]
    rewards, last = await advanced(rescores, held, environment="nasty")
    assert len(rewards) == last.counts.scored == last.counts.skipped == 1


async def test_another_environment_s_verifier_is_not_set_as_the_record_s_own_was(
    rescores: Rescores, held: Held, finished: Finished, record: MakeRecord
) -> None:
    held.records = [record(finished("raise_error", environment="other", settings={"load_seconds": "many"}))]
    rewards, _ = await advanced(rescores, held, verifier="nasty")
    assert [reward.failure.kind for reward in rewards if reward.failure] == [FailureKind.VERIFIER_ERROR]


async def test_trajectories_in_the_blob_store_make_small_pieces(
    finished: Finished, record: MakeRecord
) -> None:
    read = record(finished())
    large = read._replace(value=b"", envelope=read.envelope._replace(dataref="b2/0"))
    assert weight(read) == len(read.value)
    assert weight(large) == CLAIM_CHECK_BYTES
