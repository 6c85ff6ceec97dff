"""Every event that travels between the services, one module per part of the design's topic table."""

from odradek_schemas.events.base import Event
from odradek_schemas.events.control import PolicyUpdated, RunCancelled
from odradek_schemas.events.journal import (
    HarnessStuck,
    JournalAppended,
    JournalInput,
    RequestPrint,
    RolloutEnded,
    RolloutFaulted,
    RolloutSnapshot,
    TimerFired,
)
from odradek_schemas.events.judging import AskedQuestion, JudgingChanged
from odradek_schemas.events.ledger import RunCountRecorded, RunPlanRecorded, RunSumRecorded
from odradek_schemas.events.letters import RecordCoordinates, RecordRejected
from odradek_schemas.events.models import (
    Asked,
    ModelAccessEnded,
    ModelCallCompleted,
    ModelCallFailed,
    ModelCallRequested,
)
from odradek_schemas.events.positions import InputPosition, PositionsCommitted
from odradek_schemas.events.rescores import RescoreCounts, RescoreFinished, RescoreRequested
from odradek_schemas.events.results import RewardAssigned, TrajectoryFinished, VerifierIdentity
from odradek_schemas.events.runs import (
    BadRow,
    Dataset,
    RunCancelRequested,
    RunCountChanged,
    RunCountReleased,
    RunCounts,
    RunDemandRaised,
    RunFinished,
    RunProgressed,
    RunRequested,
    RunStatus,
)
from odradek_schemas.events.sessions import (
    ProgramFailed,
    ProgramFinished,
    ProgramRequested,
    SessionClosed,
    SessionCloseRequested,
    SessionFailed,
    SessionReady,
    SessionRequested,
    SessionStateChanged,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
)
from odradek_schemas.events.tasks import RolloutRequested

__all__ = [
    "Asked",
    "AskedQuestion",
    "BadRow",
    "Dataset",
    "Event",
    "HarnessStuck",
    "InputPosition",
    "JournalAppended",
    "JournalInput",
    "JudgingChanged",
    "ModelAccessEnded",
    "ModelCallCompleted",
    "ModelCallFailed",
    "ModelCallRequested",
    "PolicyUpdated",
    "PositionsCommitted",
    "ProgramFailed",
    "ProgramFinished",
    "ProgramRequested",
    "RecordCoordinates",
    "RecordRejected",
    "RequestPrint",
    "RescoreCounts",
    "RescoreFinished",
    "RescoreRequested",
    "RewardAssigned",
    "RolloutEnded",
    "RolloutFaulted",
    "RolloutRequested",
    "RolloutSnapshot",
    "RunCancelRequested",
    "RunCancelled",
    "RunCountChanged",
    "RunCountRecorded",
    "RunCountReleased",
    "RunCounts",
    "RunDemandRaised",
    "RunFinished",
    "RunPlanRecorded",
    "RunProgressed",
    "RunRequested",
    "RunStatus",
    "RunSumRecorded",
    "SessionCloseRequested",
    "SessionClosed",
    "SessionFailed",
    "SessionReady",
    "SessionRequested",
    "SessionStateChanged",
    "TimerFired",
    "ToolCallCompleted",
    "ToolCallFailed",
    "ToolCallRequested",
    "TrajectoryFinished",
    "VerifierIdentity",
]
