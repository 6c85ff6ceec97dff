"""All figures of one scoring of a run, and of each group of its tasks."""

from collections.abc import Mapping
from dataclasses import dataclass

from odradek.metrics.at_k import avg_at, pass_at, pass_hat, sample_counts
from odradek.metrics.figures import Figure, mean
from odradek.metrics.majority import majority_at
from odradek.metrics.plan import Missing, Placed
from odradek.metrics.spent import Percentiles, spent

ANSWER = "extracted_answer"
"""The detail of a reward that is voted on, unless another one is named."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a scoring came to. `mean` and `components` are over rollouts; the figures at k are over tasks, by k.

    `finished`: rollouts that have a reward, `masked`: those of them without a value. `majority_at` is empty where no
    reward names an answer.
    """

    planned: int
    tasks: int
    finished: int
    masked: int
    missing: Missing
    threshold: float
    mean: Figure
    pass_at: Mapping[int, Figure]
    pass_hat: Mapping[int, Figure]
    avg_at: Mapping[int, Figure]
    majority_at: Mapping[int, Figure]
    components: Mapping[str, Figure]
    spent: Mapping[str, Percentiles]


def summarize(
    placed: Placed,
    missing: Missing = Missing.EXCLUDE,
    threshold: float = 1.0,
    answer: str = ANSWER,
    samples: int | None = None,
) -> Summary:
    """All figures. A sample passes from `threshold` on; `details[answer]` is what is voted on.

    Figures at k are given for k = 1, 2, 4, ... and `samples`, by default the most of a task.
    """
    scores, ballots, rewards = placed.scores, placed.ballots(answer), placed.rewards
    ks = sample_counts(samples or placed.plan.samples)
    return Summary(
        planned=placed.plan.rollouts,
        tasks=len(placed.plan.tasks),
        finished=len(rewards),
        masked=sum(reward.masked for reward in rewards),
        missing=missing,
        threshold=threshold,
        mean=mean(scores, missing),
        pass_at={k: pass_at(scores, k, missing, threshold) for k in ks},
        pass_hat={k: pass_hat(scores, k, missing, threshold) for k in ks},
        avg_at={k: avg_at(scores, k, missing) for k in ks},
        majority_at={} if ballots is None else {k: majority_at(ballots, k, missing) for k in ks},
        components={name: mean(values, missing) for name, values in placed.components.items()},
        spent=spent(placed),
    )
