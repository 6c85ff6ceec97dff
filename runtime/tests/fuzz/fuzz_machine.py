"""A state machine over the world: Hypothesis chooses what is sent, what goes wrong and when."""

import random
from typing import Any, ClassVar

from fuzz_processors import INPUTS, A
from fuzz_world import World
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from kafka_network import Fault

MOST_RUNNING = 3
SLOTS = 5
"""Rollouts that are under way at a time."""

_COMMON = ("lost", "unanswered", "kill", "kill_after", "kill_late", "pause", "pause_after")
_SLOW = (0.3, 3.0, 9.0, 13.0)
_ERRORS = {
    "Produce": (10, 87, 6, 7),  # too large, invalid; not the leader, timed out
    "AddPartitionsToTxn": (51, 14),
    "EndTxn": (51, 14),
    "InitProducerId": (51, 14),
    "Heartbeat": (16, 22, 25, 27),
}
"""Codes that the broker may answer with. The first two of Produce are the ones that no client tries again."""
_REQUESTS = (
    "EndTxn", "Produce", "InitProducerId", "AddPartitionsToTxn", "OffsetCommit", "OffsetFetch", "Fetch", "Offset",
    "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "Metadata", "FindCoordinator",
)  # fmt: skip


@st.composite
def faults(draw: st.DrawFn) -> Fault:
    request = draw(st.sampled_from(_REQUESTS))
    effect = draw(st.sampled_from((*_COMMON, "slow", *(("error", "error") if request in _ERRORS else ()))))
    amount = {"slow": _SLOW, "kill_late": _SLOW, "error": _ERRORS.get(request, ())}.get(effect, (0,))
    return Fault(request, draw(st.integers(1, 5)), effect, draw(st.sampled_from(amount)))


KINDS = ("plain", "plain", "timer", "job", "cross", "slow", "raises")
PUTS = st.lists(st.tuples(st.integers(0, SLOTS - 1), st.sampled_from(KINDS)), min_size=1, max_size=6)
WHICH = st.integers(0, MOST_RUNNING - 1)
PAUSES = st.sampled_from((0.0, 0.001, 0.005, 0.03, 0.2, 1.0))


class Fuzz(RuleBasedStateMachine):
    """One world. Subclasses say which kind of processor it runs."""

    kind: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.world: World | None = None
        self.slots: dict[int, int] = {}

    @initialize(
        seed=st.integers(0, 2**32 - 1),
        partitions=st.integers(1, 3),
        static=st.booleans(),
        workers=st.integers(1, MOST_RUNNING),
        lead=st.sampled_from((0.0, 0.02, 1.0, 3.0)),
    )
    def begin(self, seed: int, partitions: int, static: bool, workers: int, lead: float) -> None:
        self.world = World(self.kind, seed, partitions, static)
        for number in range(workers):
            self.world.start(f"w{number}" if static else None)
        self.world.advance(lead)

    @rule(
        topic=st.sampled_from(INPUTS),
        puts=PUTS,
        end=st.sampled_from((None, None, None, True, False)),
        then=PAUSES,
    )
    def put(self, topic: str, puts: list[tuple[int, str]], end: bool | None, then: float) -> None:
        self._world.put(
            topic, [(self._rollout(slot, counts=end is not False), kind) for slot, kind in puts], end
        )
        self._world.advance(then)

    @rule()
    def decide(self) -> None:
        self._world.decide()

    @rule(topic=st.sampled_from(INPUTS), partition=st.integers(0, 2), named=st.booleans())
    def poison(self, topic: str, partition: int, named: bool) -> None:
        self._world.put_poison(topic, partition % self._world.partitions, named)

    @rule(model=st.sampled_from(("m", "n")))
    def tell(self, model: str) -> None:
        self._world.tell(model)

    @rule(seconds=st.sampled_from((0.001, 0.01, 0.1, 0.6, 2.0, 7.0, 14.0)))
    def wait(self, seconds: float) -> None:
        self._world.advance(seconds)

    @rule(fault=faults())
    def arm(self, fault: Fault) -> None:
        self._world.arm(fault)

    @precondition(lambda self: self.world and len(self._running) < MOST_RUNNING)
    @rule(then=PAUSES)
    def start(self, then: float) -> None:
        taken = {member.name for member in self._world.running()}
        awaited = {name for _at, name in self._world._restarts}
        free = [f"w{n}" for n in range(MOST_RUNNING) if f"w{n}" not in taken | awaited]
        if not self._world.static or free:
            self._world.start(free[0] if self._world.static else None)
            self._world.advance(then)

    @precondition(lambda self: self.world and self._running)
    @rule(which=WHICH, then=PAUSES)
    def kill(self, which: int, then: float) -> None:
        self._world.kill(self._member(which))
        self._world.advance(then)

    @precondition(lambda self: self.world and self._running)
    @rule(which=WHICH, seconds=st.sampled_from((0.5, 5.0, 8.0, 13.0)))
    def pause(self, which: int, seconds: float) -> None:
        self._world.pause(self._member(which))
        self._world.advance(seconds)

    @rule()
    def resume(self) -> None:
        for member in self._world.running():
            if member.paused:
                self._world.resume(member)

    @precondition(lambda self: self.world and self._running)
    @rule(which=WHICH, then=PAUSES)
    def stop(self, which: int, then: float) -> None:
        self._world.stop(self._member(which))
        self._world.advance(then)

    @rule(how=st.sampled_from(("crash", "freeze")), seconds=st.sampled_from((0.05, 1.0, 5.0, 12.0)))
    def lose_broker(self, how: str, seconds: float) -> None:
        self._world.faults += 3
        getattr(self._world.network, how)()
        self._world.advance(seconds)
        self._world.network.heal()

    @rule()
    def clean(self) -> None:
        self._world.compact()
        self._world.purge()

    def teardown(self) -> None:
        if self.world is None:
            return
        try:
            self.settle(restores=self.world.draw.random() < 0.2)
        finally:
            self.close()

    def settle(self, restores: bool) -> None:
        """Faults stop, and everything must have happened exactly once; `restores`: and be restored once more."""
        self._world.settle()
        if restores:
            self._world.restore_again()

    def close(self) -> None:
        self._world.close()

    @property
    def _world(self) -> World:
        assert self.world is not None
        return self.world

    @property
    def _running(self) -> list[Any]:
        return [member for member in self._world.running() if not member.stopped]

    def _member(self, which: int) -> Any:
        running = self._running
        return running[which % len(running)]

    def _rollout(self, slot: int, counts: bool) -> int:
        """The rollout that occupies a slot; when all its inputs are sent another one moves in."""
        world = self._world
        number = self.slots.get(slot)
        if number is None or world.rollouts[number][2] >= world.rollouts[number][1]:
            world.rollouts.append([world.draw.randrange(world.partitions), world.draw.randint(1, 4), 0])
            number = self.slots[slot] = len(world.rollouts) - 1
        world.rollouts[number][2] += counts
        return number


def storm(machine: Fuzz, seed: int, steps: int = 30) -> None:
    """One dense run that a plain seed chooses: work at every second step, and much going wrong."""
    chance = random.Random(seed)
    machine.begin(seed, chance.randint(1, 3), chance.random() < 0.5, chance.randint(1, MOST_RUNNING), 1.0)
    try:
        for _ in range(steps):
            _blow(machine, chance)
        machine.settle(restores=True)
    finally:
        machine.close()


def _blow(machine: Fuzz, chance: random.Random) -> None:
    pauses = (0.0, 0.005, 0.03, 0.2, 1.0)
    what = chance.choice(("put",) * 10 + ("wait",) * 3 + ("arm",) * 4 + ("kill", "pause", "start", "start", "stop",
                         "lose", "clean", "tell", "poison", "decide"))  # fmt: skip
    if what == "put":
        puts = [(chance.randrange(SLOTS), chance.choice(KINDS[:-1])) for _ in range(chance.randint(1, 5))]
        end = chance.choice((None, None, None, True, False))
        machine.put(chance.choice(INPUTS), puts, end, chance.choice(pauses))
    elif what == "wait":
        machine.wait(chance.choice((0.5, 2.0, 7.0)))
    elif what == "arm":
        request = chance.choice(
            ("EndTxn", "Produce", "AddPartitionsToTxn", "InitProducerId", "OffsetFetch", "Fetch")
        )
        effect = chance.choice(
            ("kill", "kill_after", "pause", "pause_after", "kill_late", "unanswered", "slow", "refused")
        )
        if effect == "refused":  # no client tries this again: the cycle must fail
            request, effect = "Produce", "error"
        if effect == "kill_late":
            request = chance.choice(("EndTxn", "EndTxn", "InitProducerId", "Produce"))
        amounts = {"slow": _SLOW, "kill_late": (9.0,), "error": (10,)}.get(effect, (0,))
        machine.arm(Fault(request, chance.randint(1, 3), effect, chance.choice(amounts)))
    elif what == "lose":
        machine.lose_broker(chance.choice(("crash", "freeze")), chance.choice((0.05, 1.0)))
    elif what == "clean":
        machine.clean()
    elif what == "tell":
        machine.tell("m")
    elif what == "poison":
        machine.poison(A, chance.randrange(3), True)
    elif what == "decide":
        machine.decide()
    elif what == "start" and len(machine._running) < MOST_RUNNING:
        machine.start(chance.choice(pauses))
    elif machine._running and what == "pause":
        machine.pause(chance.randrange(3), chance.choice((1.0, 8.0)))
        machine.resume()
    elif machine._running and what in ("kill", "stop"):
        getattr(machine, what)(chance.randrange(3), chance.choice(pauses))
