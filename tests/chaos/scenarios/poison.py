"""Records that can't be read, in each topic that workers read."""

from functools import partial

from odradek_schemas.failures import FailureKind
from odradek_schemas.rollouts import Limits
from tests.chaos.poison import (
    LostBlobs,
    Poison,
    Poisoned,
    PoisonedAnswer,
    PoisonedChangelog,
    SecondAttempt,
    TypedFailures,
    Whole,
)
from tests.chaos.scenario import Expected, Ground, Load, Recovery, Scenario, Strike
from tests.chaos.scenarios.code import WORLD, row
from tests.chaos.strikes import End, Victim
from tests.chaos.workers import AGENT, ENV, GATEWAY, PRODUCER
from tests.support.log import PARTITIONS

LIMITS = Limits(rollout_seconds=110)
LOAD = Load(samples=8, limits=LIMITS)
KINDS = ", ".join(poison.value.removeprefix("it ").removeprefix("its ") for poison in Poison)
NAMED = len(Poison) - 1
"""Poisons that leave the headers, so that those who wait can be told."""
FITTING = NAMED - 1
"""Those whose headers name a type of the topic."""


def poisoned(topic: str, type_: str, event: str, told: set[str], each: int, of_run: bool = False) -> Scenario:
    """All poisons in each partition; `told` are the types of the failures that follow, `each` in each partition."""
    return Scenario(
        f"poison/{topic}",
        f"`{topic}`",
        "any",
        f"records that can't be read: {KINDS}",
        (Poisoned(topic, type_, event, of_run),),
        load=LOAD,
        expected=Expected(dead_letters=len(Poison) * PARTITIONS),
        checks=(TypedFailures(frozenset(told), each * PARTITIONS), Whole()),
        recovery=Recovery.NONE,
    )


def answered(topic: str, strike: Strike, load: Load, environment: Ground) -> Scenario:
    return Scenario(
        f"poison/{topic}/in-flight",
        f"`{topic}`",
        "with the call in flight",
        "an answer that can't be read",
        (strike,),
        load=load,
        expected=Expected(dead_letters=1),
        checks=(SecondAttempt(),),
        ground=environment,
        recovery=Recovery.NONE,
    )


CHANGELOGS = {"journal": AGENT, "sessions": ENV, "ledger": PRODUCER}
NAPPING = partial(list, [row(("misbehave", {"deed": "nap"}))] * 4)
LONG = partial(list, [row(("recite", {"kib": 400}), expected=0)] * 4)

SCENARIOS = (
    poisoned("runs", "RunRequested", "", {"RunFinished"}, FITTING, of_run=True),
    poisoned("run-progress", "RunCountChanged", "/0/7", set(), 0, of_run=True),
    poisoned("tasks", "RolloutRequested", "", {"TrajectoryFinished"}, NAMED),
    poisoned("model-calls", "ModelCallRequested", "/1/1", {"ModelCallFailed"}, FITTING),
    poisoned("model-results", "ModelCallCompleted", "/1/1/completed", set(), 0),
    poisoned("tool-actions", "ToolCallRequested", "/1/2", {"ToolCallFailed", "SessionFailed"}, NAMED),
    poisoned("observations", "ToolCallCompleted", "/1/2/completed", set(), 0),
    poisoned("trajectories", "TrajectoryFinished", "/trajectory", {"RewardAssigned"}, NAMED),
    poisoned("rewards", "RewardAssigned", "/reward/primary", {"RunCountChanged"}, NAMED),
    Scenario(
        "poison/control",
        "`control`",
        "any; then a worker begins anew and reads it",
        f"records that can't be read: {KINDS}",
        (Poisoned("control", "RunCancelled", "", of_run=True), End((Victim(GATEWAY),), after=None)),
        load=LOAD,
    ),
    answered(
        "model-results",
        PoisonedAnswer("model-calls", "model-results", "ModelCallRequested", "ModelCallCompleted"),
        Load(model="tool_loop_patient", samples=2, limits=LIMITS),
        Ground(),
    ),
    answered(
        "observations",
        PoisonedAnswer("tool-actions", "observations", "ToolCallRequested", "ToolCallCompleted"),
        Load("chaos", "planned", NAPPING, samples=1, limits=LIMITS),
        WORLD,
    ),
    Scenario(
        "poison/trajectories/lost-blobs",
        "the blob store",
        "after the trajectories are written, before they are read",
        "blobs that are gone",
        (LostBlobs(4),),
        load=Load("chaos", "planned", LONG, samples=1, limits=LIMITS),
        expected=Expected(by_row=(FailureKind.BLOB_UNREADABLE,) * 4, dead_letters=4),
        ground=WORLD,
        recovery=Recovery.NONE,
    ),
    Scenario(
        "poison/changelogs",
        "`journal`, `sessions`, `ledger`",
        "before their workers restore them",
        "a record that can't be read: the worker says which, and ends (what another one wrote is not guessed at)",
        tuple(PoisonedChangelog(topic, part) for topic, part in CHANGELOGS.items()),
        load=LOAD,
        ground=Ground(name="ruined"),
        recovery=Recovery.NONE,
        ruins=True,
    ),
)
