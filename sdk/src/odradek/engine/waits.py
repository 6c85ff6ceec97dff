"""What a rollout waits for. Every wait has a time at which it ends, so every wait is a timer."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from odradek_schemas.failures import FailureKind, Stage

ROLLOUT_TIMER = "rollout"
"""The timer of the whole rollout. The others have the id of the call or session they wait for."""

ANSWER_GRACE_SECONDS = 2.0
"""How much longer than a call's deadline its answer is awaited.

Whoever carries the call out has the deadline too, and says better why it failed; this is the time for saying it."""


class WaitKind(StrEnum):
    ROLLOUT = "rollout"
    OPENING = "opening"
    MODEL = "model"
    TOOL = "tool"
    PROGRAM = "program"
    SLEEP = "sleep"
    CLOSING = "closing"


class Wait(NamedTuple):
    kind: WaitKind
    due: datetime


STAGES = {
    WaitKind.ROLLOUT: Stage.HARNESS,
    WaitKind.OPENING: Stage.SESSION,
    WaitKind.MODEL: Stage.MODEL,
    WaitKind.TOOL: Stage.TOOL,
    WaitKind.PROGRAM: Stage.HARNESS,
    WaitKind.SLEEP: Stage.HARNESS,
    WaitKind.CLOSING: Stage.SESSION,
}
"""The stage at which a rollout is while it waits."""

DEADLINES = {
    WaitKind.ROLLOUT: FailureKind.ROLLOUT_DEADLINE,
    WaitKind.OPENING: FailureKind.SESSION_DEADLINE,
    WaitKind.MODEL: FailureKind.MODEL_DEADLINE,
    WaitKind.TOOL: FailureKind.TOOL_DEADLINE,
    WaitKind.PROGRAM: FailureKind.PROGRAM_DEADLINE,
    WaitKind.CLOSING: FailureKind.SESSION_DEADLINE,
}
"""How the failure is called when a wait was in vain."""
