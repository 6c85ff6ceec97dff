"""Failures are typed: a kind, the stage at which it happened, and words for a person."""

from enum import StrEnum

from odradek_schemas.base import Model


class Stage(StrEnum):
    """Where in a rollout's life a failure happened."""

    PLAN = "plan"
    SESSION = "session"
    MODEL = "model"
    TOOL = "tool"
    HARNESS = "harness"
    VERIFY = "verify"
    TRANSPORT = "transport"


class FailureKind(StrEnum):
    """What failed. Stable names: dashboards, trainers and tests group by them."""

    RATE_LIMITED = "rate_limited"
    QUOTA_EXHAUSTED = "quota_exhausted"
    UPSTREAM_UNAVAILABLE = "upstream_unavailable"
    MALFORMED_REPLY = "malformed_reply"
    AUTH = "auth"
    INVALID_REQUEST = "invalid_request"
    CONTENT_FILTERED = "content_filtered"
    CONTEXT_OVERFLOW = "context_overflow"
    UNKNOWN_MODEL = "unknown_model"
    MODEL_DEADLINE = "model_deadline"
    TOOL_DEADLINE = "tool_deadline"
    TOOL_INTERRUPTED = "tool_interrupted"
    SESSION_DEADLINE = "session_deadline"
    SESSION_LOST = "session_lost"
    ENVIRONMENT_ERROR = "environment_error"
    ENVIRONMENT_KILLED = "environment_killed"
    UNKNOWN_ENVIRONMENT = "unknown_environment"
    UNKNOWN_HARNESS = "unknown_harness"
    HARNESS_ERROR = "harness_error"
    HARNESS_STUCK = "harness_stuck"
    UNKNOWN_PROGRAM = "unknown_program"
    PROGRAM_ERROR = "program_error"
    GATEWAY_UNAVAILABLE = "gateway_unavailable"
    PROGRAM_DEADLINE = "program_deadline"
    HARNESS_NONDETERMINISTIC = "harness_nondeterministic"
    ROLLOUT_DEADLINE = "rollout_deadline"
    RUN_CANCELLED = "run_cancelled"
    RUN_DEADLINE = "run_deadline"
    INVALID_DATASET = "invalid_dataset"
    VERIFIER_ERROR = "verifier_error"
    VERIFIER_DEADLINE = "verifier_deadline"
    VERIFIER_KILLED = "verifier_killed"
    ANSWER_UNREADABLE = "answer_unreadable"
    JUDGE_UNREADABLE = "judge_unreadable"
    UNSCORED = "unscored"
    UNREADABLE_RECORD = "unreadable_record"
    BLOB_UNREADABLE = "blob_unreadable"


RETRIED_KINDS = frozenset(
    {
        FailureKind.RATE_LIMITED,
        FailureKind.UPSTREAM_UNAVAILABLE,
        FailureKind.MALFORMED_REPLY,
        FailureKind.MODEL_DEADLINE,
        FailureKind.TOOL_DEADLINE,
        FailureKind.TOOL_INTERRUPTED,
        FailureKind.PROGRAM_ERROR,
        FailureKind.GATEWAY_UNAVAILABLE,
        FailureKind.PROGRAM_DEADLINE,
        FailureKind.SESSION_DEADLINE,
        FailureKind.SESSION_LOST,
        FailureKind.ENVIRONMENT_ERROR,
        FailureKind.UNREADABLE_RECORD,
        FailureKind.BLOB_UNREADABLE,
    }
)
"""Kinds for which a rollout is worth a new attempt. The others would fail the same way again."""


class Failure(Model):
    kind: FailureKind
    stage: Stage
    message: str

    @property
    def retried(self) -> bool:
        """Whether a new attempt of the rollout may succeed where this one failed."""
        return self.kind in RETRIED_KINDS
