"""To come."""

from tests.chaos.scenario import Scenario

SCENARIOS: tuple[Scenario, ...] = ()
