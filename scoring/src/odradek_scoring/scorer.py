"""Verifies trajectory records: opens what is sealed, and hands the rest to the pool."""

import asyncio
from collections.abc import Awaitable, Sequence

from odradek.judging import Rounds
from odradek_runtime.sealing import SealError
from odradek_schemas.base import JsonObject
from odradek_schemas.events import RecordCoordinates, RewardAssigned, TrajectoryFinished
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.rollouts import Judgement, Trajectory
from odradek_scoring.answers import Answers
from odradek_scoring.assigning import announce, unplayed
from odradek_scoring.exchange import Job, Verdict
from odradek_scoring.pool import Pool
from odradek_scoring.scoring import Scoring


class Scorer:
    """`pool` and `answers` serve all scorings of this process."""

    def __init__(self, pool: Pool, answers: Answers) -> None:
        self._pool = pool
        self._answers = answers

    def submit(
        self, event: TrajectoryFinished, value: bytes, scoring: Scoring, rounds: Rounds = ()
    ) -> Awaitable[Verdict]:
        """Ask for what the verifier says, with what judges have said in `rounds`; it may have questions first.

        `value` is the event's JSON, empty where it is not at hand. Awaiting it raises PoolError when verifier
        processes don't start.
        """
        verdict = unplayed(event.trajectory)
        if verdict is None:
            return self._verify(event, value, scoring, rounds)
        return _known(verdict)

    async def score(
        self, event: TrajectoryFinished, at: RecordCoordinates, scoring: Scoring, value: bytes = b""
    ) -> RewardAssigned:
        """The reward of a trajectory where there are no judges to be asked: masked, where it needs them.

        Raises:
            PoolError: verifier processes don't start.
        """
        verdict = await self.submit(event, value, scoring)
        if verdict.questions:
            verdict = _nobody_to_ask(verdict)
        return announce(event, verdict, at, scoring.name)

    async def close(self) -> None:
        await self._pool.close()

    def _verify(
        self, event: TrajectoryFinished, value: bytes, scoring: Scoring, rounds: Rounds
    ) -> "asyncio.Future[Verdict]":
        trajectory = event.trajectory
        try:
            answer, evidence = self._opened(trajectory)
        except SealError as error:
            failure = Failure(kind=FailureKind.ANSWER_UNREADABLE, stage=Stage.VERIFY, message=str(error))
            return _known(Verdict(failure=failure))
        job = Job(
            scoring.verifier or trajectory.environment,
            value or event.model_dump_json(exclude_none=True).encode(),
            answer,
            evidence,
            scoring.settings_for(trajectory),
            rounds,
        )
        return self._pool.submit(job)

    def _opened(self, trajectory: Trajectory) -> tuple[JsonObject | None, JsonObject | None]:
        return self._answers.open(trajectory.sealed_answer), self._answers.open(trajectory.sealed_evidence)


def _known(verdict: Verdict) -> "asyncio.Future[Verdict]":
    known = asyncio.get_running_loop().create_future()
    known.set_result(verdict)
    return known


def replies(rounds: Sequence[Sequence[Judgement]]) -> Rounds:
    """What judges said, as verifiers are told it."""
    return [[judgement.reply for judgement in judged] for judged in rounds]


def _nobody_to_ask(verdict: Verdict) -> Verdict:
    message = (
        "the verifier asks a judge, and none can be asked from here: score it on the log, with a gateway"
    )
    failure = Failure(kind=FailureKind.UPSTREAM_UNAVAILABLE, stage=Stage.VERIFY, message=message)
    return Verdict(failure=failure, verifier=verdict.verifier)
