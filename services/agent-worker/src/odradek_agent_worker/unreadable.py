"""What to make of records that can't be read, by their headers alone: typed failures, so that nobody waits for ever."""

from datetime import datetime

from odradek_schemas import ids
from odradek_schemas.codec import BlobCorrupt, BlobMissing, Envelope, RecordError
from odradek_schemas.events import (
    ModelCallFailed,
    SessionFailed,
    ToolCallFailed,
    TrajectoryFinished,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.rollouts import Group, RolloutStatus, Trajectory
from odradek_schemas.topics import MODEL_RESULTS

UNKNOWN = "unknown"
"""Stands in a trajectory for what only the unreadable record knew."""


def failure_of(error: RecordError) -> Failure:
    blob = isinstance(error, BlobMissing | BlobCorrupt)
    kind = FailureKind.BLOB_UNREADABLE if blob else FailureKind.UNREADABLE_RECORD
    return Failure(kind=kind, stage=Stage.TRANSPORT, message=str(error))


def failed_result(
    topic: str, envelope: Envelope, rollout_id: str, failure: Failure, now: datetime
) -> ModelCallFailed | ToolCallFailed | SessionFailed:
    """The failure of the call or session that an unreadable result is about.

    The subject is told by the result's id (`ids.subject_of`); a session's has one part less than a call's.
    """
    subject = ids.subject_of(envelope.id)
    run_id, event_id = ids.run_of(rollout_id), f"{subject}/failed"
    if topic == MODEL_RESULTS.name:
        return ModelCallFailed(
            id=event_id, run_id=run_id, rollout_id=rollout_id, time=now, call_id=subject, failure=failure
        )
    session_id = "/".join(subject.split("/")[:4])
    if subject == session_id:
        return SessionFailed(
            id=event_id, run_id=run_id, rollout_id=rollout_id, time=now, session_id=subject, failure=failure
        )
    return ToolCallFailed(
        id=event_id,
        run_id=run_id,
        rollout_id=rollout_id,
        time=now,
        session_id=session_id,
        call_id=subject,
        failure=failure,
    )


def failed_rollout(rollout_id: str, failure: Failure, now: datetime) -> TrajectoryFinished:
    """The trajectory of a rollout of which nothing but its id is known."""
    run_id = ids.run_of(rollout_id)
    task_id, _, sample = rollout_id.rpartition("/")
    trajectory = Trajectory(
        run_id=run_id,
        rollout_id=rollout_id,
        group=Group(task_id=task_id or rollout_id, size=1),
        sample=int(sample) if sample.isdecimal() else 0,
        environment=UNKNOWN,
        harness=UNKNOWN,
        model=UNKNOWN,
        seed=0,
        task={},
        messages=[],
        prompt_messages=0,
        status=RolloutStatus.FAILED,
        failure=failure,
        started_at=now,
        finished_at=now,
    )
    return TrajectoryFinished(
        id=f"{rollout_id}/trajectory", run_id=run_id, rollout_id=rollout_id, time=now, trajectory=trajectory
    )
