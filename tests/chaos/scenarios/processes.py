"""Each kind of worker, struck at each of its moments."""

from tests.chaos.scenario import Load, Recovery, Scenario, long_questions
from tests.chaos.strikes import End, Freeze, Join, Leave, Progress, Victim
from tests.chaos.workers import AGENT, ENV, GATEWAY, KINDS, PRODUCER, VERIFIER

ZOMBIE_SECONDS = 9.0
"""Longer than the session timeout (6 s), and others have had time to take over and go on."""

MOMENTS = {
    "commit.before": "before the transaction",
    "commit.open": "with the transaction open",
    "commit.done": "after the commit, before the next fetch",
}
RETURNS = {
    "rebalance": "as it gets its partitions",
    "fenced": "with the partition fenced, nothing restored",
    "restore": "as it restores",
}
RESTORED = (PRODUCER, AGENT, ENV)
"""Kinds with a changelog."""
OWN = {
    GATEWAY: ("call.answered", "between the model's answer and its publication"),
    ENV: ("tool.done", "between a tool's effect and its observation"),
    VERIFIER: ("verify.answered", "between a verdict and its publication"),
}
LARGE = Load("mcqa", "instant", long_questions, samples=8, concurrency=4)


def killed(kind: str, point: str, moment: str) -> Scenario:
    return Scenario(f"{kind}/{point}/kill", kind, moment, "SIGKILL", (End((Victim(kind),), point),))


def killed_again(kind: str, point: str, moment: str) -> Scenario:
    """Killed once anywhere, and again as it comes back."""
    first, again = (
        End((Victim(kind),)),
        End((Victim(kind),), point, after=None, passage=(1, 1) if point == "rebalance" else (1, 2)),
    )
    return Scenario(f"{kind}/{point}/kill", kind, moment, "SIGKILL, and again on return", (first, again))


def killed_with_blob(kind: str) -> Scenario:
    strike = End((Victim(kind),), "blob.writing", after=Progress("tasks", 2, 6))
    return Scenario(
        f"{kind}/blob.writing/kill", kind, "as it writes a blob", "SIGKILL", (strike,), load=LARGE
    )


def killed_waiting(kind: str) -> Scenario:
    """Each call takes long, so that all of them are in flight."""
    load = Load(model="tool_loop_patient", samples=4)
    strike = End((Victim(kind),), after=Progress("model-calls", 20, 30))
    moment = "with model calls in flight"
    return Scenario(f"{kind}/in-flight/kill", kind, moment, "SIGKILL", (strike,), load=load)


def in_turn(points: dict[str, str]) -> Scenario:
    """One run in which each kind is killed at its point, one after another."""
    strikes = tuple(
        End((Victim(kind),), point, after=Progress("rewards", 20 * number + 5, 20 * number + 20))
        for number, (kind, point) in enumerate(points.items())
    )
    at = ", ".join(sorted(set(points.values())))
    return Scenario(
        "each/in-turn/kill", "each kind, one after another", at, "SIGKILL", strikes, load=Load(samples=26)
    )


def verifier_child() -> Scenario:
    strike = End((Victim(VERIFIER, child=True),))
    return Scenario(f"{VERIFIER}/pool/kill", f"{VERIFIER}'s child process", "any", "SIGKILL", (strike,))


def stopped(kind: str) -> Scenario:
    strike = End((Victim(kind),), fault="term")
    return Scenario(f"{kind}/any/term", kind, "any", "SIGTERM", (strike,))


def taken_over(kind: str) -> Scenario:
    """One of two is killed and does not come back."""
    strike = End((Victim(kind, second=True),), "commit.open")
    return Scenario(
        f"{kind}/commit.open/kill-for-good",
        kind,
        MOMENTS["commit.open"],
        "SIGKILL, not restarted",
        (strike,),
        second=(kind,),
        recovery=Recovery.OTHER,
    )


def zombie(kind: str, point: str) -> Scenario:
    """One of two is frozen for so long that the other has its partitions when it goes on."""
    return Scenario(
        f"{kind}/{point}/zombie",
        kind,
        MOMENTS[point],
        f"SIGSTOP for {ZOMBIE_SECONDS:.0f} s, then SIGCONT",
        (Freeze(Victim(kind), ZOMBIE_SECONDS, point),),
        load=Load(samples=24),
        second=(kind,),
        recovery=Recovery.OTHER,
    )


def both(kind: str) -> Scenario:
    strike = End((Victim(kind), Victim(kind, second=True)))
    return Scenario(
        f"{kind}/any/kill-both",
        f"two of {kind}",
        "any, together",
        "SIGKILL, one restarted",
        (strike,),
        second=(kind,),
        recovery=Recovery.OTHER,
    )


def joins_and_leaves(kind: str) -> Scenario:
    return Scenario(
        f"{kind}/any/join-leave",
        kind,
        "any",
        "a second one comes, and goes by SIGTERM",
        (Join(kind, Progress("rewards", 5, 10)), Leave(kind, Progress("rewards", 40, 60))),
        load=Load(samples=40, concurrency=12),
        recovery=Recovery.OTHER,
    )


SCENARIOS = (
    *(killed(kind, point, moment) for point, moment in MOMENTS.items() for kind in KINDS),
    *(killed(kind, *own) for kind, own in OWN.items()),
    *(
        killed_again(kind, point, moment)
        for point, moment in RETURNS.items()
        for kind in (RESTORED if point == "restore" else KINDS)
    ),
    *(killed_with_blob(kind) for kind in (PRODUCER, AGENT)),
    *(killed_waiting(kind) for kind in (AGENT, GATEWAY)),
    in_turn(dict.fromkeys(KINDS, "commit.open")),
    verifier_child(),
    *(stopped(kind) for kind in KINDS),
    *(taken_over(kind) for kind in KINDS),
    *(zombie(kind, point) for point in ("commit.before", "commit.open") for kind in KINDS),
    *(both(kind) for kind in KINDS),
    *(joins_and_leaves(kind) for kind in KINDS),
)
