"""The models' servers, struck."""

from dataclasses import dataclass

from odradek_schemas.failures import FailureKind
from odradek_schemas.rollouts import Limits
from tests.chaos.arena import Field
from tests.chaos.faults import ModelsAnswerBy, ModelsDown
from tests.chaos.scenario import Expected, Load, Recovery, Scenario
from tests.chaos.strikes import Progress
from tests.chaos.verdict import rewards

STRUCK = "the models' servers"
TRIES = 8
"""Most tries of one call, by the gateway's default."""
AWHILE_SECONDS = 3.0
EARLY = Progress("rewards", 4, 12)

PATIENT = Load(samples=8, limits=Limits(rollout_seconds=110, model_seconds=60))
HASTY = Load(samples=8, limits=Limits(rollout_seconds=110, model_seconds=2, max_attempts=6))
HOPELESS = Limits(rollout_seconds=60, model_seconds=5, max_attempts=2)
LONG = Limits(rollout_seconds=100, model_seconds=60, max_attempts=1)


@dataclass(frozen=True)
class NobodyHasty:
    """Whoever was told to wait has waited."""

    async def problems(self, on: Field) -> list[str]:
        hasty = sum(model.hasty() for model in on.arena.stack.models)
        return [f"{hasty} requests came before the time that Retry-After said"] if hasty else []


@dataclass(frozen=True)
class NobodyDone:
    """No rollout was completed: there was nothing to complete it with."""

    async def problems(self, on: Field) -> list[str]:
        done = [r.rollout_id for r in rewards(on.arena.watch, on.run) if r.reward is not None]
        return [f"rewards out of nothing: {done}"] if done else []


@dataclass(frozen=True)
class Told:
    """Some rollout says what was wrong with the server."""

    kind: FailureKind

    async def problems(self, on: Field) -> list[str]:
        kinds = {r.failure.kind for r in rewards(on.arena.watch, on.run) if r.failure}
        return [] if self.kind in kinds else [f"nobody says {self.kind}, but {kinds}"]


def for_a_while(name: str, fault: str, strike: ModelsAnswerBy | ModelsDown, load: Load = PATIENT) -> Scenario:
    """All rollouts are completed: tried again, if need be in another attempt."""
    return Scenario(
        f"model/{name}/while",
        STRUCK,
        "any",
        fault,
        (strike,),
        load=load,
        expected=Expected(repeats_each=TRIES - 1),
        checks=(NobodyHasty(),),
        recovery=Recovery.NONE,
    )


def for_ever(script: str, fault: str, kind: FailureKind, limits: Limits = HOPELESS) -> Scenario:
    """All rollouts fail, after a bounded number of tries, with the kind, or the deadline's where it cut a try short."""
    return Scenario(
        f"model/{script}/ever",
        STRUCK,
        "from the start",
        fault,
        (),
        load=Load(model=script, samples=1, limits=limits),
        expected=Expected(failures=frozenset({kind, FailureKind.MODEL_DEADLINE}), repeats_each=TRIES - 1),
        checks=(NobodyHasty(), NobodyDone(), Told(kind)),
        recovery=Recovery.NONE,
    )


SCENARIOS = (
    for_a_while(
        "down", f"down for {AWHILE_SECONDS:.0f} s: connections refused", ModelsDown(AWHILE_SECONDS, EARLY)
    ),
    for_a_while(
        "slow",
        "no answer within the call's time, for a while",
        ModelsAnswerBy("slow", AWHILE_SECONDS, EARLY),
        HASTY,
    ),
    *(
        for_a_while(script, fault, ModelsAnswerBy(script, AWHILE_SECONDS, EARLY))
        for script, fault in (
            ("rate_limited", "429 with Retry-After, for a while"),
            ("error500", "500, for a while"),
            ("broken_json", "broken JSON, for a while"),
            ("close", "connections closed without an answer, for a while"),
            ("cut", "connections closed in mid-answer, for a while"),
        )
    ),
    for_a_while(
        "trickle",
        "answers without end, for a while",
        ModelsAnswerBy("trickle", AWHILE_SECONDS, EARLY),
        HASTY,
    ),
    for_ever("nowhere", "down for good: connections refused", FailureKind.UPSTREAM_UNAVAILABLE),
    for_ever("slow", "never an answer", FailureKind.MODEL_DEADLINE),
    for_ever("rate_limited", "429 with Retry-After, for ever", FailureKind.RATE_LIMITED),
    for_ever("error500", "500, for ever", FailureKind.UPSTREAM_UNAVAILABLE),
    for_ever("broken_json", "broken JSON, for ever", FailureKind.MALFORMED_REPLY),
    for_ever("endless", "answers too long to take", FailureKind.UPSTREAM_UNAVAILABLE, LONG),
    for_ever("trickle", "answers that never end", FailureKind.MODEL_DEADLINE),
    for_ever("cut", "connections closed in mid-answer, for ever", FailureKind.UPSTREAM_UNAVAILABLE),
)
