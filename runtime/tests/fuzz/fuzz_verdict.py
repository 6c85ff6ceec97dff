"""What must be true of a world at rest: each input accounted for exactly once, in order, and its state restorable."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fuzz_processors import INPUTS, LETTERS, OUT

from odradek_schemas.topics import positions_topic

if TYPE_CHECKING:
    from fuzz_world import World

PREFIX = "f."
WORKER = "fuzz"
GROUP = f"{PREFIX}{WORKER}"


class Violation(AssertionError):
    """The runtime broke a promise."""


class Verdict:
    """Looks at a world as its committed readers do."""

    def __init__(self, world: "World") -> None:
        self._world = world

    def check(self) -> None:
        """What must be true at rest."""
        problems = [*self._world.recorder.violations, *self._loop_problems()]
        answers = self.answers()
        counts = Counter(answer["id"] for answer in answers)
        problems += [f"{name} was answered {n} times" for name, n in counts.items() if n > 1]
        problems += [
            f"{name} is an output of an aborted input"
            for name in self._world.ghosts
            if f"put/{name}" in counts
        ]
        problems += [f"{name} was never answered" for name in self.expected() if name not in counts]
        letters = Counter(tuple(event["record"].values()) for event in self.read(LETTERS))
        problems += [f"{record} is {n} dead letters" for record, n in letters.items() if n > 1]
        if sum(letters.values()) != len(self._world.poison):
            problems.append(
                f"{len(self._world.poison)} poisonous records made {sum(letters.values())} dead letters"
            )
        problems += self._wrong_order(answers)
        problems += self._repetitions()
        problems += self._control_missing()
        if problems:
            raise Violation("; ".join(problems[:6]))

    def read(self, topic: str) -> list[dict[str, Any]]:
        """The committed events of a topic, in the order of each partition."""
        return [
            json.loads(record.value)
            for partition in range(self._world.partitions)
            for record in self._world.broker.logs[f"{PREFIX}{topic}", partition].committed()
            if record.value is not None
        ]

    def answers(self) -> list[dict[str, Any]]:
        return self.read(OUT)

    def positions(self) -> dict[tuple[str, int], int]:
        """By topic and partition: the offset up to which the inputs were committed last."""
        newest = {event["partition"]: event["positions"] for event in self.read(positions_topic(WORKER))}
        return {(topic, n): at["offset"] for n, found in newest.items() for topic, at in found.items()}

    def expected(self) -> list[str]:
        names = [f"put/{name}" for name in self._world.inputs]
        names += [f"refused/{name}" for name in self._world.poison if name is not None]
        if self._world.kind in ("journal", "table"):
            names += [f"{e.kind}/{e.id}" for e in self._world.inputs.values() if e.kind in ("timer", "job")]
        return names

    def unfinished(self) -> str:
        counts = Counter(answer["id"] for answer in self.answers())
        missing = [name for name in self.expected() if name not in counts]
        offsets = self.positions()
        ends = {
            key: log.end
            for key, log in self._world.broker.logs.items()
            if key[0].removeprefix(PREFIX) in INPUTS
        }
        owned = {
            m.name: (m.worker and sorted(m.worker._owners), m.worker and m.worker.ready)
            for m in self._world.running()
        }
        return f"missing {missing}, committed {offsets}, ends {ends}, owned {owned}"

    def done(self) -> bool:
        """All answered, all inputs committed to their end (past the markers), each number owned once."""
        counts = {answer["id"] for answer in self.answers()}
        offsets = self.positions()
        working = [m.worker for m in self._world.running() if m.worker is not None]
        return (
            all(name in counts for name in self.expected())
            and all(
                offsets.get((topic, n), 0) == self._world.broker.logs[f"{PREFIX}{topic}", n].end
                for topic in INPUTS
                for n in range(self._world.partitions)
            )
            and all(worker.ready for worker in working)
            and sorted(n for worker in working for n in worker._owners) == list(range(self._world.partitions))
        )

    def _wrong_order(self, answers: list[dict[str, Any]]) -> Iterator[str]:
        """Where state is kept each rollout's answers count up, repeat what was seen, and keep each topic's order."""
        if self._world.kind == "loose":
            return
        by_rollout: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for answer in answers:
            if not answer["id"].startswith("refused/"):
                by_rollout[answer["rollout_id"]].append(answer)
        for rollout, given in by_rollout.items():
            given.sort(key=lambda a: a["number"])
            if [a["number"] for a in given] != list(range(1, len(given) + 1)):
                yield f"{rollout} was numbered {[(a['id'], a['number']) for a in given]}"
            puts = [a["of"] for a in given if a["id"].startswith("put/")]
            if given[-1]["seen"] != puts:
                yield f"{rollout} has seen {given[-1]['seen']}, was answered {puts}"
            for topic in INPUTS:
                offsets = [self._world.where[name][2] for name in puts if self._world.where[name][0] == topic]
                if offsets != sorted(offsets):
                    yield f"{rollout} was answered out of order: {puts}"

    def _repetitions(self) -> Iterator[str]:
        most = (
            1 + self._world.faults + len(self._world.network.struck) + self._world.broker.transactions.expired
        )
        for name, times in self._world.recorder.begun.items():
            if times > most:
                yield f"{name} was begun {times} times with {most - 1} faults"

    def _control_missing(self) -> Iterator[str]:
        newest = {event.model: event.version for event in self._world.controls}  # type: ignore[attr-defined]
        for owner in self._current():
            if owner.controls != newest:
                yield f"the owner of {owner.partition} knows {owner.controls} of control, not {newest}"

    def _current(self) -> list[Any]:
        """The folds and handlers that are owners now."""
        owners = [o for m in self._world.running() if m.worker for o in m.worker._owners.values()]
        return [getattr(owner, "_fold", None) or getattr(owner, "_handler", None) for owner in owners]

    def check_states(self, owners: list[Any]) -> None:
        """What a new owner restored is what the outputs say."""
        if self._world.kind == "loose":
            return
        expected: dict[str, list[str]] = {}
        for answer in sorted(self.answers(), key=lambda a: a["number"]):
            if not answer["id"].startswith("refused/"):
                expected[answer["rollout_id"]] = answer["seen"]
        totals = {event.rollout_id: event.total for event in self._world.inputs.values()}
        expected = {r: seen for r, seen in expected.items() if len(seen) < totals[r]}
        found: dict[str, list[str]] = {}
        for owner in owners:
            found.update(
                owner.states if hasattr(owner, "states") else {r: s.seen for r, s in owner.stories.items()}
            )
        if found != expected:
            raise Violation(f"restored {found}, expected {expected}")

    def _loop_problems(self) -> Iterator[str]:
        """Errors that nobody took: a callback of the runtime that raised, a task whose error was lost."""
        for context in self._world.loop.problems:
            if (
                context["message"].startswith("Exception in callback")
                and "odradek_runtime" in context["message"]
            ):
                yield f"{context['message']}: {context.get('exception')!r}"
