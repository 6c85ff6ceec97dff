"""Requests and results: each asked once, each answered once, each answer accepted once."""

from collections.abc import Iterator

from odradek.audit.course import Course
from odradek.audit.facts import Entry, Request, Result, Rollout
from odradek.audit.findings import Invariant, Violation, violation
from odradek.audit.letters import Letters
from odradek.audit.records import Place

RESULTS = frozenset(
    {
        "ModelCallCompleted",
        "ModelCallFailed",
        "SessionReady",
        "ToolCallCompleted",
        "ToolCallFailed",
        "ProgramFinished",
        "ProgramFailed",
        "SessionClosed",
        "SessionFailed",
    }
)
_PARTS_OF_SESSION = 4
"""`run/task/sample/attempt`; a call's id has one part more."""
_UNREADABLE = frozenset({"unreadable_record", "blob_unreadable"})


def check_doubles(rollout: Rollout, letters: Letters) -> Iterator[Violation]:
    """No request is in the log twice, and no call has two results."""
    for request_id, requests in rollout.requests.items():
        yield from _once(request_id, requests)
    for subject, results in rollout.results.items():
        yield from _answers(subject, results, letters)


def check_requests(rollout: Rollout, course: Course) -> Iterator[Violation]:
    """What is in the journal is on the topics, and the other way round."""
    for request_id, requests in rollout.requests.items():
        if request_id not in course.asked:
            what = f"{requests[0].type} {request_id} is in no journal entry"
            yield violation(Invariant.REQUESTS, what, [requests[0].place])
    for request_id, entry in course.asked.items():
        if request_id not in rollout.requests and request_id.endswith(("/open", "/close")):
            yield _lost(request_id, entry)
    for slept in course.slept:
        if _was_no_sleep(rollout, course, slept):
            yield _lost(slept.subject, course.asked[slept.subject])


def check_results(rollout: Rollout, course: Course, letters: Letters) -> Iterator[Violation]:
    """No result is unasked, and each accepted one is in the log as it was accepted."""
    for subject, results in rollout.results.items():
        if not any(asked in rollout.requests or asked in letters.ids for asked in asked_by(subject)):
            what = f"{results[0].type} of {subject} answers what nobody asked"
            yield violation(Invariant.CALLS, what, [results[0].place])
    for entry in rollout.entries:
        if entry.type in RESULTS:
            yield from _accepted(rollout, entry, letters)


def check_waits(rollout: Rollout, course: Course) -> Iterator[Violation]:
    """A rollout that came to an end of its own has waited for nothing more."""
    if rollout.endings and rollout.endings[0].status in ("completed", "truncated"):
        for request, entry in course.waits.items():
            yield violation(
                Invariant.CALLS, f"{request} was never answered, and the rollout went on", [entry.place]
            )


def _once(request_id: str, requests: list[Request]) -> Iterator[Violation]:
    first = requests[0]
    for again in requests[1:]:
        how = "with the same content" if again.raw == first.raw else "with different content"
        what = f"{first.type} {request_id} is in the log twice, {how}"
        yield violation(Invariant.REQUESTS, what, [again.place, first.place], "one record", len(requests))


def _lost(request_id: str, entry: Entry) -> Violation:
    what = f"{request_id} was asked for in the journal, and its request is not in the log"
    return violation(Invariant.REQUESTS, what, [entry.place], "one record", "none")


def _was_no_sleep(rollout: Rollout, course: Course, fired: Entry) -> bool:
    """A timer that no request belongs to is a sleep, after which the same attempt goes on."""
    attempt = _attempt_of(rollout, fired.subject)
    if fired.requests:
        return _attempt_of(rollout, fired.requests[0]) != attempt
    ending = rollout.endings[0] if rollout.endings else None
    return ending is not None and ending.failure is not None and ending.failure[0].endswith("_deadline")


def _attempt_of(rollout: Rollout, request_id: str) -> str:
    return request_id[len(rollout.id) + 1 :].partition("/")[0]


def _answers(subject: str, results: list[Result], letters: Letters) -> Iterator[Violation]:
    """A call has one result; a session two, for its opening and its end, and only failures are alike.

    A request that can't be read is answered as well, with a failure.
    """
    unreadable = sum(letters.ids[asked] for asked in asked_by(subject))
    most = unreadable + (1 if subject.count("/") > _PARTS_OF_SESSION - 1 else 2)
    seen: dict[str, Place] = {}
    for number, result in enumerate(results):
        double = result.type in seen and result.type != "SessionFailed" and not unreadable
        if double or number >= most:
            places = [result.place, seen.get(result.type, results[0].place)]
            what = f"{subject} has another {result.type}"
            yield violation(Invariant.CALLS, what, places, "one result", f"{len(results)} results")
        seen.setdefault(result.type, result.place)


def asked_by(subject: str) -> tuple[str, ...]:
    """The ids of the requests that results about `subject` may answer. A program asks for what is named below it."""
    program = (program_of(subject),) if is_of_program(subject) else ()
    return (subject, f"{subject}/open", f"{subject}/close", *program)


def is_of_program(call_id: str) -> bool:
    """Whether a program made a call by itself."""
    return call_id.count("/") > _PARTS_OF_SESSION


def program_of(call_id: str) -> str:
    """The request for the program that made a call."""
    return call_id.rpartition("/")[0]


def _accepted(rollout: Rollout, entry: Entry, letters: Letters) -> Iterator[Violation]:
    """What an entry accepted is what lies where it says."""
    source = entry.source
    results = rollout.results.get(entry.subject, [])
    stood_in = entry.failure is not None and entry.failure[0] in _UNREADABLE
    if stood_in and source in letters:
        return
    same = [result for result in results if result.type == entry.type and result.digest == entry.digest]
    if any(result.place == source for result in same):
        return
    what = f"the journal accepted a {entry.type} of {entry.subject}"
    at_source = [result.place for result in results if result.place == source]
    if at_source:
        yield violation(
            Invariant.JOURNAL, f"{what} that differs from the record it names", [entry.place, *at_source]
        )
    elif same:
        yield violation(
            Invariant.JOURNAL,
            f"{what} from another place than where it lies",
            [entry.place, same[0].place],
            same[0].place,
            source,
        )
    else:
        yield violation(
            Invariant.CALLS, f"{what} that is not in the log", [entry.place], f"a record at {source}", "none"
        )
