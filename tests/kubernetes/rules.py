"""All that must be true of every render."""

from collections.abc import Callable, Iterator

from tests.kubernetes import network_rules, pod_rules, scaling_rules
from tests.kubernetes.objects import Rendered

Rule = Callable[[Rendered], Iterator[str]]

RULES: tuple[Rule, ...] = (
    pod_rules.unprivileged,
    pod_rules.bounded,
    pod_rules.settings_exist,
    pod_rules.settings_fit,
    pod_rules.secrets_by_reference,
    pod_rules.files_are_there,
    pod_rules.probed,
    pod_rules.scraped,
    pod_rules.drained,
    scaling_rules.selected,
    scaling_rules.every_pool_is_whole,
    scaling_rules.scaled_within_reason,
    scaling_rules.asked_for_every_input,
    network_rules.reachable,
    network_rules.env_workers_reach_the_gateway,
    network_rules.the_exporter_finds_workers,
)


def broken(rendered: Rendered) -> list[str]:
    """What is wrong with a render, by rule."""
    return [f"{rule.__name__}: {problem}" for rule in RULES for problem in rule(rendered)]
