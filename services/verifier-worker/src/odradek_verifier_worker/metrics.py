"""What a verifier-worker measures: rewards given and masked, and scorings that wait for judges."""

from collections.abc import Sequence, Sized
from weakref import WeakSet

from prometheus_client import Counter, Gauge, Summary
from prometheus_client.registry import Collector

from odradek_runtime.measures import Names, Tellers
from odradek_runtime.records import Output, Tombstone
from odradek_schemas.events import RewardAssigned
from odradek_schemas.events.results import PRIMARY_SCORING


class VerifierMetrics:
    """Implements `odradek_runtime.measures.Measures`. Judgings are watched as long as they are in use."""

    def __init__(self) -> None:
        self._judgings: WeakSet[Sized] = WeakSet()
        self._environments = Names()
        self.rewards = Counter(
            "odradek_rewards",
            "Rewards by environment; scoring: primary or rescore; outcome: scored or masked, with the kind of failure.",
            ("environment", "scoring", "outcome", "kind"),
            registry=None,
        )
        self.reward = Summary(
            "odradek_reward",
            "Rewards of first scorings: their sum and how many, masked ones left out.",
            ("environment",),
            registry=None,
        )
        self.waiting = Gauge(
            "odradek_waiting_judgings", "Scorings that wait for a judge's answer.", registry=None
        )
        self.waiting.set_function(lambda: sum(map(len, self._judgings)))
        self._tellers = Tellers({RewardAssigned: self._reward})

    def watch(self, judgings: Sized) -> None:
        """Count these scorings too."""
        self._judgings.add(judgings)

    def collectors(self) -> Sequence[Collector]:
        return [self.rewards, self.reward, self.waiting]

    def committed(self, outputs: Sequence[Output | Tombstone]) -> None:
        self._tellers.committed(outputs)

    def _reward(self, event: RewardAssigned) -> None:
        environment = self._environments.of(event.environment)
        primary = event.scoring == PRIMARY_SCORING
        outcome = "scored" if event.reward is not None else "masked"
        kind = event.failure.kind.value if event.failure and event.masked else ""
        self.rewards.labels(environment, "primary" if primary else "rescore", outcome, kind).inc()
        if primary and event.reward is not None:
            self.reward.labels(environment).observe(event.reward)
