"""The rollout engine: the life of one rollout as a pure, synchronous state machine.

Feed a `RolloutMachine` what the log brings, in order; send the requests it makes; publish the trajectory it ends with.
"""

from odradek.engine.decision import Decision
from odradek.engine.machine import RolloutMachine
from odradek.engine.replay import Unreplayable, abandoned, replay, request_of
from odradek.engine.waits import ANSWER_GRACE_SECONDS, ROLLOUT_TIMER

__all__ = [
    "ANSWER_GRACE_SECONDS",
    "ROLLOUT_TIMER",
    "Decision",
    "RolloutMachine",
    "Unreplayable",
    "abandoned",
    "replay",
    "request_of",
]
