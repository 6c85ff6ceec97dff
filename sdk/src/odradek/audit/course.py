"""The course of a rollout as its journal tells it: what it waited for, what it accepted, and in which order."""

from dataclasses import dataclass, field

from odradek.audit.facts import Entry, Rollout, Usage
from odradek.audit.findings import Invariant, Violation, violation
from odradek.audit.records import Place

ENDS_ROLLOUT = frozenset({"RunCancelled", "RolloutFaulted"})
STEPS = {"ModelCallCompleted": "model", "ToolCallCompleted": "tool", "ProgramFinished": "program"}
_HEARD = frozenset({"ModelCallCompleted", "ModelCallFailed"})
"""What a program may be heard to get while it runs."""
ROLLOUT_TIMER = "rollout"
_ANSWERS = {
    "SessionReady": ("open",),
    "SessionClosed": ("close",),
    "SessionFailed": ("open", "close"),
    "TimerFired": ("open", "close"),
}
"""Which requests of a session an input answers. Results of calls have the request's own id as their subject."""


@dataclass(slots=True)
class Course:
    """The journal, walked through. `asked`: request id -> the entry that caused it; `waits`: those without an answer.

    `steps`: entries that make a step; `ready` and `closed`: by session. `last` is None where there is no entry.
    """

    asked: dict[str, Entry] = field(default_factory=dict)
    waits: dict[str, Entry] = field(default_factory=dict)
    steps: list[Entry] = field(default_factory=list)
    ready: dict[str, Entry] = field(default_factory=dict)
    closed: dict[str, Entry] = field(default_factory=dict)
    usage: Usage = (0, 0, 0, 0)
    slept: list[Entry] = field(default_factory=list)
    last: Entry | None = None
    violations: list[Violation] = field(default_factory=list)


def walk(rollout: Rollout) -> Course:
    """Follow the entries in the order in which they lie in the log."""
    course = Course()
    for number, entry in enumerate(rollout.entries):
        if entry.sequence != number:
            course.violations.append(_out_of_sequence(rollout, number, entry))
            break
        _accept(rollout, course, entry)
        _ask(rollout, course, entry)
        course.last = entry
    return course


def _out_of_sequence(rollout: Rollout, number: int, entry: Entry) -> Violation:
    before = rollout.entries[number - 1].place if number else None
    what = (
        f"journal entry {entry.sequence} follows entry {number - 1}"
        if number
        else "the first entry is missing"
    )
    return violation(
        Invariant.JOURNAL, what, [entry.place, before], f"sequence {number}", f"sequence {entry.sequence}"
    )


def _accept(rollout: Rollout, course: Course, entry: Entry) -> None:
    """Take in an input: the wait that it ends, or all of them."""
    kind, waited = entry.type, _waited_as(course, entry)
    if course.last is not None and course.last.ended:
        _note(
            course, Invariant.JOURNAL, "an input was accepted after the end", [entry.place, course.last.place]
        )
    if kind == "RolloutRequested":
        if entry.sequence:
            _note(course, Invariant.JOURNAL, "the rollout began twice", [entry.place])
    elif kind in ENDS_ROLLOUT or (kind == "TimerFired" and entry.subject == ROLLOUT_TIMER):
        course.waits.clear()
    elif kind in _HEARD and entry.subject.rpartition("/")[0] in course.waits:
        _hear(course, entry)
    elif waited is None:
        earlier = next(
            (e.place for e in rollout.entries if e.subject == entry.subject and e is not entry), None
        )
        what = f"{kind} of {entry.subject} was accepted, and nothing waited for it"
        _note(course, Invariant.CALLS, what, [entry.place, earlier])
    else:
        _resolve(rollout, course, entry, waited)


def _hear(course: Course, entry: Entry) -> None:
    """A call of the program that is waited for."""
    if entry.type in STEPS:
        course.steps.append(entry)
        if entry.usage is not None:
            course.usage = _plus(course.usage, entry.usage)


def _resolve(rollout: Rollout, course: Course, entry: Entry, waited: str) -> None:
    kind = entry.type
    del course.waits[waited]
    if kind in STEPS:
        course.steps.append(entry)
        if entry.usage is not None:
            course.usage = _plus(course.usage, entry.usage)
    elif kind == "SessionReady":
        course.ready[entry.subject] = entry
    elif kind == "SessionClosed":
        course.closed[entry.subject] = entry
    elif kind == "TimerFired" and waited not in rollout.requests:
        course.slept.append(entry)
    else:
        course.waits.clear()


def _ask(rollout: Rollout, course: Course, entry: Entry) -> None:
    """Note what the entry caused. A harness goes on only when it has all that it waited for."""
    if course.waits and entry.requests:
        _check_patience(rollout, course, entry)
    for request in entry.requests:
        if request in course.asked:
            what = f"{request} was asked for twice"
            _note(course, Invariant.REQUESTS, what, [entry.place, course.asked[request].place])
        course.asked[request] = entry
        if not any(made.discard for made in rollout.requests.get(request, ())):
            course.waits[request] = entry


def _check_patience(rollout: Rollout, course: Course, entry: Entry) -> None:
    fresh = [request for request in entry.requests if not request.endswith(("/open", "/close"))]
    left = [wait for wait in course.waits if fresh and _attempt(rollout, wait) == _attempt(rollout, fresh[0])]
    if left:
        what = f"the harness went on although {left[0]} had no answer"
        _note(course, Invariant.CALLS, what, [entry.place, course.waits[left[0]].place])


def _waited_as(course: Course, entry: Entry) -> str | None:
    """The request that the entry's input answers, if it is waited for."""
    subject, waits = entry.subject, course.waits
    if subject in waits:
        return subject
    return next(
        (f"{subject}/{what}" for what in _ANSWERS.get(entry.type, ()) if f"{subject}/{what}" in waits), None
    )


def _attempt(rollout: Rollout, request: str) -> str:
    return request[len(rollout.id) + 1 :].partition("/")[0]


def _plus(one: Usage, other: Usage) -> Usage:
    return (one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3])


def _note(course: Course, invariant: Invariant, what: str, places: list[Place | None] | list[Place]) -> None:
    course.violations.append(violation(invariant, what, places))
