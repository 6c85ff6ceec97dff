"""Whether what was gathered of a group is given out, and with which of its rewards (pure)."""

from collections import Counter
from dataclasses import dataclass

from odradek_schemas.events import RewardAssigned
from odradek_training.errors import PolicyUnordered
from odradek_training.gathering import Gathering, Reason
from odradek_training.group import Group
from odradek_training.policies import Policies
from odradek_training.rules import LEAST_PARTIAL, Incomplete, Rules


@dataclass(frozen=True, slots=True)
class Judgement:
    """The group to give out, or None where it is dropped, and what it lacks of the planned rollouts."""

    group: Group | None
    lacks: Counter[Reason]
    fit: int
    """Rewards that were well, be they given out or not."""


def judge(gathered: Gathering, rules: Rules, policies: Policies) -> Judgement:
    """Decide on a group by the policies of this moment.

    Raises:
        PolicyUnordered: staleness has a bound, and a version does not end in a number.
    """
    lacks, fit = Counter[Reason](), list[RewardAssigned]()
    for member, late in gathered.members:
        reason = Reason.LATE if late else _unfit(member.reward, rules, policies)
        if reason is not None:
            lacks[reason] += 1
        elif member.reward is not None:
            fit.append(member.reward)
    if gathered.missing:
        lacks[Reason.MISSING] = gathered.missing
    given = not lacks or (rules.incomplete is Incomplete.PARTIAL and len(fit) >= LEAST_PARTIAL)
    return Judgement(_group(gathered, fit) if given else None, lacks, len(fit))


def _unfit(reward: RewardAssigned | None, rules: Rules, policies: Policies) -> Reason | None:
    """Why a reward must not be trained on; None: it may."""
    if reward is None:
        return Reason.UNREADABLE
    if reward.masked and not rules.include_masked:
        return Reason.MASKED
    if rules.max_staleness is None:
        return None
    staleness = policies.staleness(reward)
    if staleness is None:
        raise PolicyUnordered(
            f"{reward.rollout_id}: a policy version of {reward.model} does not end in a number, so max_staleness can't "
            "be kept: count versions up ('7', 'step-7'), or leave max_staleness out"
        )
    return Reason.STALE if staleness > rules.max_staleness else None


def _group(gathered: Gathering, rewards: list[RewardAssigned]) -> Group:
    ordered = tuple(sorted(rewards, key=lambda reward: (reward.sample, reward.rollout_id)))
    return Group(gathered.run_id, gathered.task_id, gathered.size, ordered)
