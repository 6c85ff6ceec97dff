"""One scoring of trajectories: the first one, or a re-score."""

from dataclasses import dataclass, field

from odradek_schemas.base import JsonObject
from odradek_schemas.events.results import PRIMARY_SCORING
from odradek_schemas.rollouts import Trajectory


@dataclass(frozen=True, slots=True)
class Scoring:
    """`verifier`: whose `verify` scores, None: the trajectory's own environment's. `settings` go over the record's."""

    name: str = PRIMARY_SCORING
    verifier: str | None = None
    settings: JsonObject = field(default_factory=dict)

    def settings_for(self, trajectory: Trajectory) -> JsonObject:
        """What the verifier is set to. Another environment's knows nothing of what the record's own was set to."""
        own = self.verifier in (None, trajectory.environment)
        return {**trajectory.settings, **self.settings} if own else self.settings


PRIMARY = Scoring()
