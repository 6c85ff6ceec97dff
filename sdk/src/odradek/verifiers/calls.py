"""The tool calls that a model made against those that were wanted.

A call's arguments are compared as JSON, whatever its spelling: keys in any order, 1 and 1.0 are one number. Arguments that
are no JSON object match nothing.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import orjson
from pydantic import JsonValue

from odradek.verifiers.sets import Overlap
from odradek.verifiers.states import Comparison
from odradek_schemas.base import JsonObject
from odradek_schemas.messages import FunctionCall

Equal = Callable[[JsonValue, JsonValue], bool]
"""Whether a call's argument (first) does for the wanted one."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that is to be made."""

    name: str
    arguments: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Arguments:
    """How the arguments of one call are compared.

    `ignoring`: names of arguments that don't count. `comparing`: for some names, what takes the place of equality as JSON;
    it is asked only where both sides have the argument. `defaults`: what an argument is where a side leaves it out.
    """

    ignoring: Collection[str] = ()
    comparing: Mapping[str, Equal] = field(default_factory=dict)
    defaults: JsonObject = field(default_factory=dict)

    def match(self, call: FunctionCall, wanted: Wanted) -> bool:
        """Whether `call` is the wanted one: its name, and all arguments that count."""
        made = read_arguments(call)
        if call.name != wanted.name or made is None:
            return False
        ours, theirs = self._counted(made), self._counted(wanted.arguments)
        return ours.keys() == theirs.keys() and all(
            self._equal(name, ours[name], theirs[name]) for name in ours
        )

    def _counted(self, arguments: JsonObject) -> JsonObject:
        whole = {**self.defaults, **arguments}
        return {name: value for name, value in whole.items() if name not in self.ignoring}

    def _equal(self, name: str, ours: JsonValue, theirs: JsonValue) -> bool:
        return self.comparing.get(name, Comparison().equal)(ours, theirs)


def read_arguments(call: FunctionCall) -> JsonObject | None:
    """A call's arguments, None where they are no JSON object; an empty text is no arguments."""
    try:
        arguments = orjson.loads(call.arguments) if call.arguments.strip() else {}
    except ValueError:
        return None
    return arguments if isinstance(arguments, dict) else None


def in_order(calls: Sequence[FunctionCall], wanted: Sequence[Wanted], how: Arguments | None = None) -> bool:
    """Whether the calls are exactly the wanted ones, in their order."""
    match = (how or Arguments()).match
    return len(calls) == len(wanted) and all(map(match, calls, wanted))


def in_any_order(
    calls: Sequence[FunctionCall], wanted: Sequence[Wanted], how: Arguments | None = None
) -> bool:
    """Whether the calls are exactly the wanted ones, as a multiset: each as often as it is wanted."""
    return len(calls) == len(wanted) and pairs(calls, wanted, how).common == len(wanted)


def pairs(calls: Sequence[FunctionCall], wanted: Sequence[Wanted], how: Arguments | None = None) -> Overlap:
    """How many calls can be paired with wanted ones, each used once: `recall` is the share of the wanted that were made.

    The most pairs that can be had, by augmenting paths (Kuhn's algorithm), since comparisons of one's own may let a call
    do for several wanted ones.
    """
    match = (how or Arguments()).match
    candidates = [[at for at, call in enumerate(calls) if match(call, one)] for one in wanted]
    taken: dict[int, int] = {}
    common = sum(_augment(index, candidates, taken, set()) for index in range(len(wanted)))
    return Overlap(common, len(calls), len(wanted))


def _augment(wanted: int, candidates: list[list[int]], taken: dict[int, int], seen: set[int]) -> bool:
    """Find a call for one more wanted one, moving others to calls that also do for them."""
    for call in candidates[wanted]:
        if call in seen:
            continue
        seen.add(call)
        if call not in taken or _augment(taken[call], candidates, taken, seen):
            taken[call] = wanted
            return True
    return False
