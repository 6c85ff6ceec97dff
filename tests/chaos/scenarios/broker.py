"""The broker, struck."""

from tests.chaos.scenario import Load, Recovery, Scenario
from tests.chaos.strikes import End, Forget, Freeze, Victim
from tests.chaos.workers import BROKER

FROZEN_SECONDS = 15.0
LOAD = Load(samples=32)

SCENARIOS = (
    Scenario(
        "kafka/any/kill",
        "the broker",
        "any",
        "SIGKILL",
        (End((Victim(BROKER),)),),
        load=LOAD,
        recovery=Recovery.BROKER,
    ),
    Scenario(
        "kafka/any/forget",
        "the broker",
        "any",
        "SIGKILL, and its groups and their offsets are gone",
        (Forget(),),
        load=LOAD,
        recovery=Recovery.BROKER,
    ),
    Scenario(
        "kafka/any/term",
        "the broker",
        "any",
        "SIGTERM",
        (End((Victim(BROKER),), fault="term"),),
        load=LOAD,
        recovery=Recovery.BROKER,
    ),
    Scenario(
        "kafka/any/freeze",
        "the broker",
        "any",
        f"SIGSTOP for {FROZEN_SECONDS:.0f} s, then SIGCONT",
        (Freeze(Victim(BROKER), FROZEN_SECONDS),),
        load=LOAD,
        recovery=Recovery.BROKER,
    ),
)
