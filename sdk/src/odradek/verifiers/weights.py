"""One reward out of several objectives. The components stay in the reward: a trainer may weigh them anew.

A component is any finite number; those of the other building blocks go from 0 to 1.
"""

from collections.abc import Collection, Mapping
from math import isfinite, prod

from odradek_schemas.base import JsonObject
from odradek_schemas.rollouts import Reward


def weighted(
    components: Mapping[str, float],
    weights: Mapping[str, float] | None = None,
    *,
    normalized: bool = True,
    details: JsonObject | None = None,
) -> Reward:
    """The weighted mean of the components, or with `normalized=False` their weighted sum; 1 is each one's own weight.

    A weight of 0 keeps a component as information; negative weights are penalties, and need `normalized=False`.

    Raises:
        ValueError: there is no component, a weight is for none of them, something is not finite, or the weights of a mean
            are negative or all 0.
    """
    given = dict.fromkeys(components, 1.0) | dict(weights or {})
    _check(components, given)
    total = sum(value * given[name] for name, value in components.items())
    if normalized:
        if min(given.values()) < 0 or not sum(given.values()):
            raise ValueError(
                f"the weights of a mean must be positive: {given}; for penalties say normalized=False"
            )
        total /= sum(given.values())
    return _reward(total, components, details)


def product(components: Mapping[str, float], *, details: JsonObject | None = None) -> Reward:
    """The product of the components: 0 as soon as one is 0.

    Raises:
        ValueError: there is no component, or one is not finite.
    """
    _check(components, {})
    return _reward(prod(components.values()), components, details)


def least(components: Mapping[str, float], *, details: JsonObject | None = None) -> Reward:
    """The least of the components: the worst objective decides.

    Raises:
        ValueError: there is no component, or one is not finite.
    """
    _check(components, {})
    return _reward(min(components.values()), components, details)


def gated(
    components: Mapping[str, float],
    gates: Collection[str],
    weights: Mapping[str, float] | None = None,
    *,
    details: JsonObject | None = None,
) -> Reward:
    """The weighted mean of the components that are no gates, if all gates are above 0; else 0. The gates are kept too.

    Raises:
        ValueError: a gate is no component, or the others don't do for `weighted`.
    """
    unknown = sorted(set(gates) - set(components))
    if unknown:
        raise ValueError(f"gates {unknown} are no components: {sorted(components)}")
    rest = {name: value for name, value in components.items() if name not in gates}
    inner = weighted(rest, weights)
    _check(components, {})
    is_open = all(components[gate] > 0 for gate in gates)
    return _reward(inner.reward if is_open else 0.0, components, details)


def _check(components: Mapping[str, float], weights: Mapping[str, float]) -> None:
    if not components:
        raise ValueError("a reward needs at least one component")
    unknown = sorted(set(weights) - set(components))
    if unknown:
        raise ValueError(f"weights for {unknown}, which are no components: {sorted(components)}")
    for name, value in (*components.items(), *weights.items()):
        if not isfinite(value):
            raise ValueError(f"{name} is {value}, which is no finite number")


def _reward(reward: float, components: Mapping[str, float], details: JsonObject | None) -> Reward:
    return Reward(reward=reward, components=dict(components), details=details or {})
