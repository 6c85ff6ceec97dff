"""A state machine over the world: Hypothesis chooses what is sent, what goes wrong and when."""

from typing import Any, ClassVar

from fuzz_processors import INPUTS
from fuzz_world import World
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from kafka_network import Fault

MOST_RUNNING = 3
SLOTS = 5
"""Rollouts that are under way at a time."""

_COMMON = ("lost", "unanswered", "kill", "kill_after", "pause", "pause_after")
_SLOW = (0.3, 3.0, 9.0, 13.0)
_ERRORS = {
    "Produce": (10, 87, 6, 7),  # too large, invalid; not the leader, timed out
    "TxnOffsetCommit": (14, 16, 7),
    "AddPartitionsToTxn": (51, 14),
    "AddOffsetsToTxn": (51, 16),
    "EndTxn": (51, 14),
    "InitProducerId": (51, 14),
    "Heartbeat": (16, 22, 25, 27),
}
"""Codes that the broker may answer with. The first two of Produce are the ones that no client tries again."""
_REQUESTS = (
    "EndTxn", "TxnOffsetCommit", "Produce", "InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn",
    "OffsetFetch", "Fetch", "Offset", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "Metadata",
    "FindCoordinator",
)  # fmt: skip


@st.composite
def faults(draw: st.DrawFn) -> Fault:
    request = draw(st.sampled_from(_REQUESTS))
    effect = draw(st.sampled_from((*_COMMON, "slow", *(("error", "error") if request in _ERRORS else ()))))
    amount = {"slow": _SLOW, "error": _ERRORS.get(request, ())}.get(effect, (0,))
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

    @rule(topic=st.sampled_from(INPUTS), puts=PUTS, end=st.sampled_from((None, None, None, True, False)), then=PAUSES)
    def put(self, topic: str, puts: list[tuple[int, str]], end: bool | None, then: float) -> None:
        self._world.put(topic, [(self._rollout(slot, counts=end is not False), kind) for slot, kind in puts], end)
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
            self.world.settle()
            if self.world.draw.random() < 0.2:
                self.world.restore_again()
        finally:
            self.world.close()

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
