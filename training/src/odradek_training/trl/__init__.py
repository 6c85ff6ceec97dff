"""TRL's trainers on a stream of rewards: `GRPOTrainer(rollout_func=...)` and `AsyncGRPOTrainer(rollout_worker=...)`.

Nothing of TRL, transformers, numpy or torch is imported before a trainer needs it. Written against TRL 1.16, whose
`rollout_func` and `AsyncGRPOTrainer` are experimental: pin its version.
"""

from odradek_training.trl.behaviour import with_behaviour_logprobs
from odradek_training.trl.checkpoints import NoPosition, last_checkpoint, position_in, step_of
from odradek_training.trl.rollout_func import RolloutFunc, stream_reward
from odradek_training.trl.worker import RolloutWorker

__all__ = [
    "NoPosition",
    "RolloutFunc",
    "RolloutWorker",
    "last_checkpoint",
    "position_in",
    "step_of",
    "stream_reward",
    "with_behaviour_logprobs",
]
