"""The work on one partition of `trajectories`: each gets its one reward."""

from odradek_runtime.records import Output, Outputs, Record
from odradek_runtime.sealing import SealError
from odradek_schemas.codec import RecordError
from odradek_schemas.events import Event, TrajectoryFinished
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.topics import REWARDS
from odradek_verifier_worker.answers import Answers
from odradek_verifier_worker.exchange import Job, Verdict
from odradek_verifier_worker.pool import Pool
from odradek_verifier_worker.rewards import announce, unplayed, unreadable


class Verifier:
    """A `Handler`; `pool` and `answers` are the worker's, shared by its partitions."""

    def __init__(self, pool: Pool, answers: Answers) -> None:
        self._pool = pool
        self._answers = answers

    def restore(self, key: str, event: Event | None) -> None:
        """Verifiers keep no state, so there is no changelog to restore from."""

    async def handle(self, event: Event, record: Record) -> Outputs:
        assert isinstance(event, TrajectoryFinished), f"`trajectories` carries no {event.type}"
        verdict = unplayed(event.trajectory) or await self._verify(event, record)
        return [Output(REWARDS.name, announce(event, verdict, record))]

    def reject(self, record: Record, error: RecordError) -> Outputs:
        reward = unreadable(record, error)
        return [] if reward is None else [Output(REWARDS.name, reward)]

    def control(self, event: Event) -> None:
        """A cancelled run's rollouts get their (masked) rewards as any other; policies are the gateway's business."""

    async def close(self) -> None:
        """The pool serves all partitions and lives as long as the worker."""

    async def _verify(self, event: TrajectoryFinished, record: Record) -> Verdict:
        trajectory = event.trajectory
        try:
            answer = self._answers.open(trajectory.sealed_answer)
            evidence = self._answers.open(trajectory.sealed_evidence)
        except SealError as error:
            failure = Failure(kind=FailureKind.ANSWER_UNREADABLE, stage=Stage.VERIFY, message=str(error))
            return Verdict(failure=failure)
        value = record.value or event.model_dump_json(exclude_none=True).encode()
        return await self._pool.verify(
            Job(trajectory.environment, value, answer, evidence, trajectory.settings)
        )
