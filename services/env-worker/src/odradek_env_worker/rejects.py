"""The typed failure of an action that can't be read, made of what its headers tell."""

from odradek_runtime.records import Record
from odradek_schemas import ids
from odradek_schemas.codec import BlobCorrupt, BlobMissing, RecordError
from odradek_schemas.events import ProgramFailed, SessionFailed, ToolCallFailed
from odradek_schemas.failures import Failure, FailureKind, Stage

_CALLS: dict[str, type[ToolCallFailed] | type[ProgramFailed]] = {
    "ToolCallRequested": ToolCallFailed,
    "ProgramRequested": ProgramFailed,
}


def rejected(record: Record, error: RecordError) -> SessionFailed | ToolCallFailed | ProgramFailed | None:
    """The failure for whoever waits; None: the headers don't name a session.

    Ids are `run/task/sample/attempt/...`: of a session's request and close as of a tool call, the session's id is
    what comes before the last part.
    """
    envelope = record.envelope
    session_id = envelope.id.rpartition("/")[0]
    rollout_id = envelope.rollout_id or ids.rollout_of(envelope.id)
    if not session_id.startswith(f"{rollout_id}/"):
        return None
    kind = (
        FailureKind.BLOB_UNREADABLE
        if isinstance(error, BlobMissing | BlobCorrupt)
        else FailureKind.UNREADABLE_RECORD
    )
    run_id = envelope.run_id or ids.run_of(rollout_id)
    failure = Failure(kind=kind, stage=Stage.TRANSPORT, message=str(error))
    if kind_of_call := _CALLS.get(envelope.type):
        return kind_of_call(
            id=f"{envelope.id}/failed",
            run_id=run_id,
            rollout_id=rollout_id,
            session_id=session_id,
            call_id=envelope.id,
            failure=failure,
        )
    return SessionFailed(
        id=f"{session_id}/failed",
        run_id=run_id,
        rollout_id=rollout_id,
        session_id=session_id,
        failure=failure,
    )
