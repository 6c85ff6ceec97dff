"""Code of users, misbehaving: harnesses, tools and verifiers of the chaos world."""

from functools import partial
from typing import Any

from odradek_schemas.failures import FailureKind
from odradek_schemas.rollouts import Limits
from tests.chaos.faults import BoundMemory, Deaths
from tests.chaos.scenario import Expected, Ground, Load, Recovery, Scenario, Strike
from tests.chaos.strikes import End, Progress, Victim
from tests.chaos.workers import AGENT, ENV
from tests.support.stack import MISCHIEF

WORLD = Ground(
    name="world",
    environment={
        **MISCHIEF,
        "ODRADEK_VERIFIER_DEADLINE_SECONDS": "4",
        "ODRADEK_VERIFIER_MEMORY_MIB": "512",
        "ODRADEK_STALL_SECONDS": "6",
    },
)
LIMITS = Limits(rollout_seconds=110, tool_seconds=60, max_attempts=2)

Row = dict[str, Any]


def row(*calls: tuple[str, dict[str, Any]], expected: int = 0, **task: str) -> Row:
    planned = [{"name": name, "arguments": arguments} for name, arguments in calls]
    return {"task": {"calls": planned, **task}, "answer": {"expected": expected}}


def deed(name: str) -> Row:
    """The model adds, and then calls a tool that misbehaves in this way."""
    return row(("add", {"amount": 1}), ("misbehave", {"deed": name}), expected=1)


GOOD = row(("add", {"amount": 2}), ("add", {"amount": 3}), expected=5)


def scenario(
    name: str,
    struck: str,
    fault: str,
    bad: list[tuple[Row, FailureKind | None]],
    *strikes: Strike,
    good: int = 4,
    limits: Limits = LIMITS,
    moment: str = "any",
) -> Scenario:
    """Rows that misbehave beside some that don't: each must end as is said of it."""
    rows = [GOOD] * good + [bad_row for bad_row, _kind in bad]
    kinds = (None,) * good + tuple(kind for _row, kind in bad)
    return Scenario(
        f"code/{name}",
        struck,
        moment,
        fault,
        strikes,
        load=Load("chaos", "planned", partial(list, rows), samples=1, limits=limits),
        expected=Expected(by_row=kinds),
        ground=WORLD,
        recovery=Recovery.NONE,
    )


def harness(way: str) -> Row:
    return row(harness=way)


def verifier(name: str) -> Row:
    return row(("add", {"amount": 1}), expected=1, verifier=name)


SCENARIOS = (
    scenario(
        "harness/raise",
        "a harness",
        "it raises; it awaits something of another's",
        [
            (harness("raise_error"), FailureKind.HARNESS_ERROR),
            (harness("await_another"), FailureKind.HARNESS_ERROR),
            (harness("await_for_ever"), FailureKind.HARNESS_ERROR),
        ],
    ),
    scenario(
        "harness/hang",
        "a harness",
        "it computes without an await",
        [(harness("hang"), FailureKind.HARNESS_STUCK)],
        Deaths(AGENT, 1),
    ),
    scenario(
        "harness/rest",
        "a harness",
        "it sleeps beyond its rollout's time",
        [(harness("rest"), FailureKind.ROLLOUT_DEADLINE)],
        good=0,
        limits=Limits(rollout_seconds=4),
    ),
    scenario(
        "harness/drift",
        "a harness",
        "it asks otherwise when it is run again",
        [(harness("drift"), FailureKind.HARNESS_NONDETERMINISTIC)] * 2,
        End((Victim(AGENT),), after=Progress("model-results", 16, 16)),
        moment="its worker killed between two of its steps",
    ),
    scenario(
        "verifier",
        "a verifier",
        "it loops for ever, eats memory, ends its process, raises, prints garbage",
        [
            (verifier("garbage"), None),
            (verifier("loop"), FailureKind.VERIFIER_DEADLINE),
            (verifier("hold_interpreter"), FailureKind.VERIFIER_DEADLINE),
            (verifier("eat"), FailureKind.VERIFIER_KILLED),
            (verifier("leave"), FailureKind.VERIFIER_KILLED),
            (verifier("kill"), FailureKind.VERIFIER_KILLED),
            (verifier("kill_once"), None),
            (verifier("raise_error"), FailureKind.VERIFIER_ERROR),
            (verifier("exit_politely"), FailureKind.VERIFIER_ERROR),
        ],
    ),
    scenario(
        "tool/raise",
        "a tool",
        "it raises, refuses, prints garbage",
        [
            (row(("refuse", {})), None),
            (row(("no_such_tool", {})), None),
            (deed("garbage"), None),
            (deed("raise_error"), FailureKind.ENVIRONMENT_ERROR),
            (deed("exit_politely"), FailureKind.ENVIRONMENT_ERROR),
        ],
    ),
    scenario(
        "tool/loop",
        "a tool",
        "it never comes back",
        [(deed("loop"), FailureKind.TOOL_DEADLINE)],
        limits=Limits(rollout_seconds=110, tool_seconds=5, max_attempts=2),
    ),
    scenario(
        "tool/exit",
        "a tool",
        "it ends its process: once, or each time",
        [
            (deed("kill_once"), None),
            (deed("leave"), FailureKind.ENVIRONMENT_KILLED),
        ],
        Deaths(ENV, 4),
        good=8,
    ),
    scenario(
        "tool/hold",
        "a tool",
        "it lets no other thread run",
        [(deed("hold_interpreter"), FailureKind.ENVIRONMENT_KILLED)],
        Deaths(ENV, 3),
    ),
    scenario(
        "tool/eat",
        "a tool",
        "it eats memory, in a worker whose memory is bounded",
        [(deed("eat"), FailureKind.ENVIRONMENT_ERROR)],
        BoundMemory(ENV),
    ),
)
