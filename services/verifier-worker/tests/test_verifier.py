"""One trajectory in, one reward out."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

import pytest
import pytest_asyncio
from nacl.encoding import Base64Encoder
from nacl.public import PrivateKey

from odradek_runtime.blobs import open_blob_store
from odradek_runtime.brokers import Brokers
from odradek_runtime.intake import Intake
from odradek_runtime.names import Names
from odradek_runtime.records import Output, Outputs, Record
from odradek_runtime.sealing import Opener, Sealer
from odradek_schemas.codec import BlobMissing, Envelope, InvalidValue
from odradek_schemas.events import RewardAssigned, TrajectoryFinished
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.messages import TokenRecord, Usage
from odradek_schemas.rollouts import ModelStep, RolloutStatus
from odradek_scoring import Answers, Pool, Scorer
from odradek_verifier_worker.app import create_processor
from odradek_verifier_worker.judgings import Judgings
from odradek_verifier_worker.rescores import Rescores
from odradek_verifier_worker.settings import VerifierSettings
from odradek_verifier_worker.trajectories import Trajectories
from odradek_verifier_worker.verifier import Verifier

Finished = Callable[..., TrajectoryFinished]
MakeRecord = Callable[..., Record]

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = PrivateKey.generate()
SEALER = Sealer(KEY.public_key.encode(Base64Encoder))
ANSWER = SEALER.seal({"expected": "B"})


@pytest_asyncio.fixture(loop_scope="module")
async def verifier(pool: Pool) -> AsyncIterator[Verifier]:
    made = make_verifier(pool, Answers(Opener(KEY.encode(Base64Encoder))))
    yield made
    await made.close()


def make_verifier(pool: Pool, answers: Answers) -> Verifier:
    trajectories = Trajectories(
        Brokers("127.0.0.1:1"), Names("t."), Intake("verifier-worker", open_blob_store("file:///nowhere"))
    )
    scorer = Scorer(pool, answers)
    judgings = Judgings(scorer, trajectories.read, 60.0, lambda: NOW)
    return Verifier(judgings, Rescores(trajectories, scorer, judgings), _no_commit)


async def _no_commit(outputs: Outputs) -> None:
    raise AssertionError(f"nothing is committed beside a record here: {outputs}")


async def test_a_completed_rollout_is_scored_with_its_opened_answer(
    verifier: Verifier, finished: Finished, record: MakeRecord
) -> None:
    step = ModelStep(
        call_id="run/0/3/1/1",
        turn=1,
        message=1,
        finish_reason="stop",
        usage=Usage(completion_tokens=1),
        latency_ms=1.0,
        tokens=TokenRecord(policy_version="v7"),
    )
    event = finished(
        sample=3,
        sealed_answer=ANSWER,
        steps=[step],
        usage=Usage(completion_tokens=1),
        cost=0.002,
        attempt=2,
    )
    read = record(event)
    reward = _only(await verifier.handle(event, read))
    assert reward.id == "run/0/3/reward/primary"
    assert (reward.reward, reward.masked, reward.failure) == (1.0, False, None)
    assert reward.components == {"right": 1.0}
    assert reward.scoring == "primary"
    assert reward.verifier is not None
    assert reward.verifier.name == "nasty"
    assert (reward.sample, reward.turns, reward.attempt, reward.policy_version) == (3, 1, 2, "v7")
    assert reward.group == event.trajectory.group
    assert (reward.usage.completion_tokens, reward.cost) == (1, 0.002)
    assert reward.trajectory == read.coordinates


async def test_a_truncated_rollout_is_scored_too(
    verifier: Verifier, finished: Finished, record: MakeRecord
) -> None:
    event = finished(said="A", sealed_answer=ANSWER, status=RolloutStatus.TRUNCATED, truncated_by="max_turns")
    reward = _only(await verifier.handle(event, record(event)))
    assert (reward.reward, reward.masked, reward.truncated_by) == (0.0, False, "max_turns")


async def test_a_record_from_the_blob_store_is_scored_like_any_other(
    verifier: Verifier, finished: Finished, record: MakeRecord
) -> None:
    event = finished(sealed_answer=ANSWER)
    assert _only(await verifier.handle(event, record(event, claimed=True))).reward == 1.0


async def test_sealed_evidence_is_opened_for_the_verifier(
    verifier: Verifier, finished: Finished, record: MakeRecord
) -> None:
    event = finished(sealed_answer=ANSWER, sealed_evidence=SEALER.seal({"tests": 3}))
    assert _only(await verifier.handle(event, record(event))).details == {"evidence": {"tests": 3}}


@pytest.mark.parametrize("status", [RolloutStatus.FAILED, RolloutStatus.CANCELLED])
async def test_a_rollout_that_was_not_played_out_is_masked_with_its_failure(
    verifier: Verifier, finished: Finished, record: MakeRecord, status: RolloutStatus
) -> None:
    failure = Failure(kind=FailureKind.UPSTREAM_UNAVAILABLE, stage=Stage.MODEL, message="no answer")
    event = finished("loop", status=status, failure=failure)
    reward = _only(await verifier.handle(event, record(event)))
    assert (reward.reward, reward.masked, reward.failure) == (None, True, failure)
    assert reward.status is status


async def test_a_cancelled_rollout_without_a_reason_still_has_a_failure(
    verifier: Verifier, finished: Finished, record: MakeRecord
) -> None:
    event = finished(status=RolloutStatus.CANCELLED)
    reward = _only(await verifier.handle(event, record(event)))
    assert reward.failure is not None
    assert reward.failure.kind is FailureKind.RUN_CANCELLED


async def test_an_answer_that_can_not_be_opened_masks_the_reward(
    pool: Pool, finished: Finished, record: MakeRecord
) -> None:
    event = finished(sealed_answer=ANSWER)
    other = Opener(PrivateKey.generate().encode(Base64Encoder))
    for answers in (Answers(other), Answers(None)):
        verifier = make_verifier(pool, answers)
        reward = _only(await verifier.handle(event, record(event)))
        await verifier.close()
        assert (reward.reward, reward.masked) == (None, True)
        assert reward.failure is not None
        assert reward.failure.kind is FailureKind.ANSWER_UNREADABLE


async def test_a_verifier_that_fails_masks_the_reward(
    verifier: Verifier, finished: Finished, record: MakeRecord
) -> None:
    event = finished("raise_error", sealed_answer=ANSWER)
    reward = _only(await verifier.handle(event, record(event)))
    assert (reward.reward, reward.masked) == (None, True)
    assert reward.failure is not None
    assert reward.failure.kind is FailureKind.VERIFIER_ERROR
    assert reward.verifier is not None


async def test_an_unreadable_trajectory_masks_the_reward_of_the_rollout_its_headers_name(
    verifier: Verifier, finished: Finished, record: MakeRecord
) -> None:
    read = record(finished(sample=2))
    for error, kind in (
        (InvalidValue(read.coordinates, "cut short"), FailureKind.UNREADABLE_RECORD),
        (BlobMissing(read.coordinates, "not there"), FailureKind.BLOB_UNREADABLE),
    ):
        reward = _only(verifier.reject(read, error))
        assert reward.id == "run/0/2/reward/primary"
        assert (reward.run_id, reward.rollout_id, reward.sample) == ("run", "run/0/2", 2)
        assert (reward.reward, reward.masked, reward.status) == (None, True, RolloutStatus.FAILED)
        assert reward.group.task_id == "run/0"
        assert reward.trajectory == read.coordinates
        assert reward.failure is not None
        assert reward.failure.kind is kind


async def test_a_record_of_no_rollout_is_nobody_s_reward(verifier: Verifier) -> None:
    envelope = Envelope("TrajectoryFinished", "x", None, None, None, None, None)
    read = Record("trajectories", 0, 1, None, b"", (), envelope)
    assert verifier.reject(read, InvalidValue(read.coordinates, "cut short")) == []


async def test_the_worker_remembers_whom_it_has_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ODRADEK_SEALING_PRIVATE_KEY_FILE", raising=False)
    monkeypatch.setenv("ODRADEK_BLOB_STORE", "file:///nowhere")
    processor = create_processor(VerifierSettings())
    assert processor.inputs == ("trajectories", "judge-results", "rescores")
    assert (processor.changelog, processor.ordered) == ("judging", False)


def _only(outputs: Outputs) -> RewardAssigned:
    (output,) = outputs
    assert isinstance(output, Output)
    assert output.topic == "rewards"
    assert isinstance(output.event, RewardAssigned)
    return output.event


async def test_what_goes_wrong_beside_any_record_ends_the_worker_at_the_next(
    pool: Pool, finished: Finished, record: MakeRecord
) -> None:
    verifier = make_verifier(pool, Answers(None))
    lost = record(finished())._replace(topic="judge-results")
    lost = lost._replace(envelope=lost.envelope._replace(id="run/0/0/judge/primary/0.0/completed"))
    verifier.reject(lost, InvalidValue(lost.coordinates, "cut short"))  # its commit is refused here
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with pytest.raises(AssertionError, match="nothing is committed beside a record here"):
        await verifier.handle(finished(), record(finished()))
    await verifier.close()
