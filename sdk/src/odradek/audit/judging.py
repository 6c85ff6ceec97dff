"""The verdict on one rollout: everything that is wrong with what was seen of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum, auto

from odradek.audit.asking import check_asking
from odradek.audit.calls import check_doubles, check_requests, check_results, check_waits
from odradek.audit.conversation import check_content, check_steps
from odradek.audit.course import Course, walk
from odradek.audit.facts import Placed, Rollout
from odradek.audit.findings import Invariant, Violation, violation
from odradek.audit.letters import Letters
from odradek.audit.reading import print_of
from odradek.audit.records import Place
from odradek.audit.scores import check_score


class View(Enum):
    """How much of a rollout is seen.

    `WHOLE`: what was not seen is not there. `KEPT`: the same, of what is kept long; all else may be deleted.
    `PARTIAL`: it is under way; only contradictions count.
    """

    WHOLE = auto()
    KEPT = auto()
    PARTIAL = auto()


def judge(rollout: Rollout, letters: Letters, view: View) -> list[Violation]:
    """All violations of a rollout."""
    rollout = letters.without(rollout)
    found = [*_check_once(rollout)]
    if view is View.KEPT:
        found += [*_check_presence(rollout, letters), *_check_scores(rollout, letters)]
    else:
        course = walk(rollout)
        found += [*course.violations, *check_doubles(rollout, letters)]
        if view is View.WHOLE:
            found += _check_whole(rollout, course, letters)
    return [replace(one, rollout_id=rollout.id) for one in found]


def is_whole(rollout: Rollout, view: View) -> bool:
    """Whether nothing more of it is to come."""
    if view is View.KEPT:
        return bool(rollout.scores and rollout.endings)
    if not (rollout.scores and rollout.endings and rollout.tasks and rollout.over):
        return False
    asked = {request for entry in rollout.entries for request in entry.requests}
    fired = {entry.subject for entry in rollout.entries if entry.type == "TimerFired"}
    sent = all(request in rollout.requests or request in fired for request in asked)
    return sent and all(is_answered(rollout, request) for request in rollout.requests)


def is_answered(rollout: Rollout, request: str) -> bool:
    """Whether a request has its result."""
    session, _, what = request.rpartition("/")
    if what not in ("open", "close"):
        return request in rollout.results
    kinds = [result.type for result in rollout.results.get(session, ())]
    return ("SessionReady" if what == "open" else "SessionClosed") in kinds or "SessionFailed" in kinds


def _check_once(rollout: Rollout) -> Iterator[Violation]:
    yield from _only(Invariant.PLAN, "the rollout was asked for", rollout.tasks)
    yield from _only(Invariant.TRAJECTORY, "the rollout has a trajectory", rollout.endings)
    yield from _only(Invariant.REWARD, "the rollout has a primary reward", rollout.scores)
    for place, _ in rollout.ends[1:]:
        yield violation(
            Invariant.JOURNAL, "the journal says twice that it ended", [place, rollout.ends[0][0]]
        )


def _only(invariant: Invariant, what: str, every: Sequence[Placed]) -> Iterator[Violation]:
    places = [one.place for one in every]
    for place in places[1:]:
        yield violation(invariant, f"{what} twice", [place, places[0]], "one record", len(places))


def _check_whole(rollout: Rollout, course: Course, letters: Letters) -> Iterator[Violation]:
    if not rollout.tasks and rollout.id not in letters.rollouts:
        what = "the rollout was played and never asked for"
        yield violation(Invariant.PLAN, what, _places(rollout)[:1], "one record", "none")
    yield from _check_presence(rollout, letters)
    yield from _check_journal(rollout, course)
    if not course.violations:  # what follows can't be told from a journal that is not in order
        yield from _check_course(rollout, course, letters)
    yield from _check_scores(rollout, letters)


def _check_course(rollout: Rollout, course: Course, letters: Letters) -> Iterator[Violation]:
    yield from check_requests(rollout, course)
    yield from check_results(rollout, course, letters)
    yield from check_waits(rollout, course)
    for task in rollout.tasks[:1]:
        yield from check_asking(rollout, course, task)
    for ending in rollout.endings[:1]:
        yield from check_steps(rollout, course, ending)
        yield from check_content(rollout, course, ending)


def _check_presence(rollout: Rollout, letters: Letters) -> Iterator[Violation]:
    seen = _places(rollout)[:1]
    if not rollout.endings and rollout.id not in letters.rollouts:
        yield violation(Invariant.TRAJECTORY, "the rollout has no trajectory", seen, "one record", "none")
    if not rollout.scores:
        yield violation(Invariant.REWARD, "the rollout has no primary reward", seen, "one record", "none")


def _check_scores(rollout: Rollout, letters: Letters) -> Iterator[Violation]:
    for score in rollout.scores:
        yield from check_score(rollout, score, letters)


def _check_journal(rollout: Rollout, course: Course) -> Iterator[Violation]:
    """It begins with the task, ends once, and snapshots repeat it."""
    yield from _check_beginning(rollout)
    last, ends = course.last, [place for place, _ in rollout.ends]
    said = {status for _, status in rollout.ends} | ({last.ended} if last and last.ended else set())
    where = [last.place if last else None, *ends]
    if not said and last is not None:
        yield violation(Invariant.JOURNAL, "the journal does not say that the rollout ended", where)
    for ending in rollout.endings[:1]:
        if said and said != {ending.status}:
            what = "the journal tells another end than the trajectory"
            yield violation(
                Invariant.JOURNAL,
                what,
                [ending.place, *where],
                ending.status,
                ", ".join(sorted(map(str, said))),
            )
    if last is not None:
        late = [place for place in ends if place.offset < last.place.offset]
        for place in late:
            what = "an input was accepted after the end"
            yield violation(Invariant.JOURNAL, what, [last.place, place])
    yield from _check_snapshots(rollout)


def _check_beginning(rollout: Rollout) -> Iterator[Violation]:
    for task in rollout.tasks[:1]:
        if not rollout.entries:
            yield violation(Invariant.JOURNAL, "the rollout has no journal", [task.place])
            return
        first = rollout.entries[0]
        if first.type == "RolloutRequested" and (first.digest, first.source) != (task.digest, task.place):
            what = "the journal begins with another task than the one that was asked for"
            yield violation(Invariant.JOURNAL, what, [first.place, task.place])


def _check_snapshots(rollout: Rollout) -> Iterator[Violation]:
    for place, prints in rollout.snapshots:
        before = tuple(print_of(entry) for entry in rollout.entries if entry.place.offset < place.offset)
        if prints != before:
            what = "a snapshot tells other entries than the journal before it"
            yield violation(
                Invariant.JOURNAL, what, [place], f"{len(before)} entries", f"{len(prints)} entries"
            )


def _places(rollout: Rollout) -> list[Place]:
    every: Iterable[Placed] = [
        *rollout.tasks,
        *rollout.scores,
        *rollout.endings,
        *rollout.entries[-1:],
        *(request for requests in rollout.requests.values() for request in requests),
        *(result for results in rollout.results.values() for result in results),
    ]
    return [one.place for one in every]
