"""How many workers a pool should have (pure).

Workers wanted are load over target: an absolute measure, so that a decision that has not taken effect yet is not taken
twice. Around it lies a band of the policy's tolerance in which a pool stays as it is, so that noise changes nothing: it
grows when even the tolerated load of its workers is exceeded, and shrinks when fewer would have room to spare. A change
must be asked for by every measurement of a window, short for growth and long for shrinking; of those the most cautious
one counts: the least growth, the least shrinking. A window in which something was not measured shrinks nothing.

Sources: Kubernetes' horizontal pod autoscaler (tolerance, stabilization windows); a Schmitt trigger for the band.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from odradek_scaling.policy import Policy

_ROUNDING = 1e-9
"""Quotients of floats that are meant to be whole."""


@dataclass(frozen=True)
class Sample:
    """One measurement: when (seconds, of any clock that never goes back), and the load; None: it could not be told."""

    at: float
    load: int | None


@dataclass(frozen=True)
class History:
    """What a pool has been like: samples from the oldest to the newest, its workers now, and its topics' partitions.

    `partitions` None: not known.
    """

    samples: Sequence[Sample]
    replicas: int
    partitions: int | None = None


@dataclass(frozen=True)
class Decision:
    """How many workers there should be, and why in a few words."""

    replicas: int
    why: str


def decide(history: History, policy: Policy, now: float) -> Decision:
    """How many workers the pool should have now; within the policy's bounds, and no more than partitions."""
    now_has = history.replicas
    least, most = bounds(policy, history.partitions)
    if not least <= now_has <= most:
        return Decision(min(max(now_has, least), most), f"outside {least} to {most}")
    latest = history.samples[-1] if history.samples else None
    if latest is None or latest.load is None:
        return Decision(now_has, "the load is not known")
    wanted = min(max(wants(latest.load, now_has, policy), least), most)
    if wanted == now_has:
        return Decision(now_has, _state(latest.load, now_has, policy))
    seconds = policy.grow_seconds if wanted > now_has else policy.shrink_seconds
    move = _growth if wanted > now_has else _shrinking
    agreed = min(max(move(history, policy, now - seconds, wanted), least), most)
    reason = _state(latest.load, now_has, policy)
    if agreed == now_has:
        return Decision(now_has, f"{reason}: {wanted} if so for {seconds:g} s")
    return Decision(agreed, reason)


def _growth(history: History, policy: Policy, since: float, wanted: int) -> int:
    """The least growth that was asked for since then."""
    known = [sample.load for sample in history.samples if sample.at >= since and sample.load is not None]
    return max(history.replicas, min([wanted, *(wants(load, history.replicas, policy) for load in known)]))


def _shrinking(history: History, policy: Policy, since: float, wanted: int) -> int:
    """The least shrinking that was asked for since then; none, where not all is known.

    What was measured last before the window held until the next measurement, in it.
    """
    held = [sample.load for sample in history.samples if sample.at <= since][-1:] or [None]
    window = [*held, *(sample.load for sample in history.samples if sample.at >= since)]
    known = [load for load in window if load is not None]
    if len(known) < len(window):
        return history.replicas
    return min(history.replicas, max([wanted, *(wants(load, history.replicas, policy) for load in known)]))


def bounds(policy: Policy, partitions: int | None) -> tuple[int, int]:
    """The fewest and the most workers; one more than partitions would have nothing to do."""
    most = policy.max if partitions is None else min(policy.max, partitions)
    return min(policy.min, most), most


def wants(load: int, replicas: int, policy: Policy) -> int:
    """How many workers one measurement asks for, where there are `replicas`; as many, within the band."""
    enough = _workers(load, policy.target * (1 + policy.tolerance))
    ample = _workers(load, policy.target * (1 - policy.tolerance))
    return replicas if enough <= replicas <= ample else _workers(load, policy.target)


def kept(samples: Sequence[Sample], policy: Policy, now: float) -> list[Sample]:
    """What of a history may still matter: the windows, and the one measurement before them that holds at their start."""
    since = now - max(policy.grow_seconds, policy.shrink_seconds)
    before = [sample for sample in samples if sample.at < since]
    return [*before[-1:], *(sample for sample in samples if sample.at >= since)]


def _workers(load: int, target: float) -> int:
    return math.ceil(load / target - _ROUNDING)


def _state(load: int, replicas: int, policy: Policy) -> str:
    if replicas == 0:
        return f"load {load}, nobody there"
    return f"{load / replicas:.3g} a worker, target {policy.target:g}"
