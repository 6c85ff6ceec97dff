"""From the record of a rollout to its reward."""

from odradek_scoring.answers import Answers
from odradek_scoring.pool import Pool, PoolError
from odradek_scoring.process import Bounds
from odradek_scoring.scorer import Scorer
from odradek_scoring.scoring import PRIMARY, Scoring

__all__ = ["PRIMARY", "Answers", "Bounds", "Pool", "PoolError", "Scorer", "Scoring"]
