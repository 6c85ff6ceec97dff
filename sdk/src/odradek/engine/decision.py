"""What comes out of a rollout that accepted one input."""

from dataclasses import dataclass, field
from datetime import datetime

from odradek_schemas.events import (
    ModelAccessEnded,
    ModelCallRequested,
    ProgramRequested,
    RequestPrint,
    SessionCloseRequested,
    SessionRequested,
    ToolCallRequested,
    TrajectoryFinished,
)

Request = (
    ModelCallRequested
    | SessionRequested
    | ToolCallRequested
    | ProgramRequested
    | SessionCloseRequested
    | ModelAccessEnded
)


@dataclass(slots=True)
class Decision:
    """Requests to send, timers that were set, and, once, the trajectory.

    `prints` are those of the requests and sleeps, in order (but for the ends of access, which no harness decides). `timers`: (due, timer) pairs; whether one still counts
    when it is due, `RolloutMachine.due` tells.
    """

    now: datetime
    requests: list[Request] = field(default_factory=list)
    prints: list[RequestPrint] = field(default_factory=list)
    timers: list[tuple[datetime, str]] = field(default_factory=list)
    finished: TrajectoryFinished | None = None
