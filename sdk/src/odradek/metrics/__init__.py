"""What a run came to, in figures over the rollouts that were planned. Pure functions.

    placed = Plan.of_run(run_id, planned, samples).place(rewards)
    summary = summarize(placed, Missing.EXCLUDE)
    comparison = compare(placed.scores, other.scores)

One rule for what has no value, in all figures: a planned rollout that never ended, whose reward is masked, or that
lacks the component asked for is *missing*, and `Missing` says what that counts; coverage is always told. A rollout
that was scored is never missing, whatever it answered: one whose answer is null counts with its score everywhere.
"""

from odradek.metrics.at_k import avg_at, pass_at, pass_at_k, pass_hat, pass_hat_k, sample_counts
from odradek.metrics.compare import Comparison, Pair, Test, compare
from odradek.metrics.figures import CONFIDENCE, Figure, mean, wilson
from odradek.metrics.majority import majority_at, majority_score
from odradek.metrics.paired import bootstrap, mcnemar, newcombe
from odradek.metrics.plan import Ballot, Missing, Placed, Plan, Scores, groups
from odradek.metrics.spent import Percentiles, percentiles
from odradek.metrics.summary import ANSWER, Summary, summarize

__all__ = [
    "ANSWER",
    "CONFIDENCE",
    "Ballot",
    "Comparison",
    "Figure",
    "Missing",
    "Pair",
    "Percentiles",
    "Placed",
    "Plan",
    "Scores",
    "Summary",
    "Test",
    "avg_at",
    "bootstrap",
    "compare",
    "groups",
    "majority_at",
    "majority_score",
    "mcnemar",
    "mean",
    "newcombe",
    "pass_at",
    "pass_at_k",
    "pass_hat",
    "pass_hat_k",
    "percentiles",
    "sample_counts",
    "summarize",
    "wilson",
]
