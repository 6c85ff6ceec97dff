"""The trajectory against all that it was made of: the task, the accepted steps, and each request."""

from collections.abc import Iterator

from odradek.audit.course import STEPS, Course
from odradek.audit.facts import Ending, Entry, Request, Result, Rollout, Step, Task
from odradek.audit.findings import Invariant, Violation, violation
from odradek.audit.programs import check_heard


def check_steps(rollout: Rollout, course: Course, ending: Ending) -> Iterator[Violation]:
    """The steps are the accepted results of the last attempt, in the order of the journal."""
    accepted = _accepted(rollout, course, ending)
    if _abandoned(course) and not ending.steps:
        return
    for number, (step, entry) in enumerate(zip(ending.steps, accepted, strict=False)):
        if (step.kind, step.call_id) != (STEPS[entry.type], entry.subject):
            yield violation(
                Invariant.STEPS,
                f"step {number} is not what was accepted then",
                [ending.place, entry.place],
                f"{STEPS[entry.type]} {entry.subject}",
                f"{step.kind} {step.call_id}",
            )
            return
    if len(ending.steps) != len(accepted):
        yield _other_number(ending, accepted)
        return
    turn = 0
    for step in ending.steps:
        turn += step.kind == "model"
        if step.kind != "program" and step.turn != turn:
            what = f"step {step.call_id} is said to be of turn {step.turn}"
            yield violation(Invariant.STEPS, what, [ending.place], f"turn {turn}", f"turn {step.turn}")
        yield from _check_step(rollout, ending, step)


def check_content(rollout: Rollout, course: Course, ending: Ending) -> Iterator[Violation]:
    """What frames the steps: task, prompt, evidence, attempts, tokens, and how it ended."""
    for task in rollout.tasks[:1]:
        yield from _check_task(rollout, course, ending, task)
    yield from _check_end(rollout, course, ending)
    if not _abandoned(course) and course.last is not None:
        if ending.usage != course.usage:
            yield _differs("usage", ending, course.last, course.usage, ending.usage)
        if ending.failed_attempts != ending.attempt - 1:
            yield _differs(
                "failed attempts", ending, course.last, f"{ending.attempt - 1}", ending.failed_attempts
            )


def _accepted(rollout: Rollout, course: Course, ending: Ending) -> list[Entry]:
    attempt = f"{rollout.id}/{ending.attempt}/"
    return [entry for entry in course.steps if entry.subject.startswith(attempt)]


def _abandoned(course: Course) -> bool:
    """Whether it ended without its journal being run again: then it knows no steps."""
    return course.last is not None and course.last.type == "RolloutFaulted"


def _other_number(ending: Ending, accepted: list[Entry]) -> Violation:
    missing = accepted[len(ending.steps) :]
    extra = ending.steps[len(accepted) :]
    what = (
        f"{missing[0].subject} was accepted and is no step"
        if missing
        else f"step {extra[0].call_id} was not accepted"
    )
    places = [ending.place, *(entry.place for entry in missing[:1])]
    return violation(Invariant.STEPS, what, places, f"{len(accepted)} steps", f"{len(ending.steps)} steps")


def _check_step(rollout: Rollout, ending: Ending, step: Step) -> Iterator[Violation]:
    if step.kind == "program" or step.context is not None:
        yield from check_heard(rollout, ending, step)
        return
    request = next(iter(rollout.requests.get(step.call_id, ())), None)
    kind = next(kind for kind, made in STEPS.items() if made == step.kind)
    result = next((r for r in rollout.results.get(step.call_id, ()) if r.type == kind), None)
    if request is None or result is None:
        lost = "request" if request is None else "result"
        yield violation(
            Invariant.STEPS, f"the {lost} of step {step.call_id} is not in the log", [ending.place]
        )
        return
    if not 0 <= step.message < len(ending.messages):
        yield violation(
            Invariant.STEPS,
            f"step {step.call_id} is about message {step.message}, which is not there",
            [ending.place],
        )
        return
    if step.digest != result.step:
        what = f"step {step.call_id} tells its result otherwise than the result itself"
        yield violation(Invariant.STEPS, what, [ending.place, result.place])
    check = _check_reply if step.kind == "model" else _check_observation
    yield from check(rollout, ending, step, request, result)


def _check_reply(
    rollout: Rollout, ending: Ending, step: Step, request: Request, result: Result
) -> Iterator[Violation]:
    if ending.messages[step.message] != result.message:
        what = f"message {step.message} is not the reply to {step.call_id}"
        yield violation(Invariant.CONTENT, what, [ending.place, result.place])
    if request.messages != ending.messages[: step.message]:
        what = f"{step.call_id} was asked with other messages than those before its reply"
        yield violation(Invariant.STEPS, what, [ending.place, request.place])


def _check_observation(
    rollout: Rollout, ending: Ending, step: Step, request: Request, result: Result
) -> Iterator[Violation]:
    assert request.call is not None, "a tool step's request is a tool call"
    call_id, name, _ = request.call
    if ending.observed.get(step.message) != (call_id, result.message):
        what = f"message {step.message} is not the observation of {step.call_id}"
        yield violation(Invariant.CONTENT, what, [ending.place, result.place])
    if step.name != name or step.turn != request.turn:
        what = f"step {step.call_id} names another tool or turn than its request"
        yield violation(
            Invariant.STEPS,
            what,
            [ending.place, request.place],
            f"{name} in turn {request.turn}",
            f"{step.name} in turn {step.turn}",
        )


def _check_task(rollout: Rollout, course: Course, ending: Ending, task: Task) -> Iterator[Violation]:
    if course.last is None:
        return
    if ending.identity != task.identity:
        what = "the trajectory tells another group, sample, environment, harness, model, seed, task or answer"
        yield violation(Invariant.CONTENT, what, [ending.place, task.place])
    ready = course.ready.get(f"{rollout.id}/{ending.attempt}")
    opened = result_of(rollout, ready)
    if _abandoned(course):
        return
    prompt = task.messages + (opened.observation if opened else ())
    if ending.messages[: ending.prompt] != prompt:
        what = "the prompt is not the task's, with what the session showed at first"
        yield violation(Invariant.CONTENT, what, [ending.place, task.place])
    tools = task.tools if task.own_tools or opened is None else opened.tools
    if ending.tools != tools and not ending.of_program:
        yield violation(
            Invariant.CONTENT, "the tools are not those that were offered", [ending.place, task.place]
        )


def _check_end(rollout: Rollout, course: Course, ending: Ending) -> Iterator[Violation]:
    last = course.last
    if last is None:
        return
    if (last.type == "RunCancelled") != (ending.status == "cancelled"):
        yield _differs("status", ending, last, f"what {last.type} ends in", ending.status)
    if ending.status in ("failed", "cancelled") and ending.failure is None:
        yield violation(Invariant.CONTENT, f"it {ending.status} without a failure", [ending.place])
    if ending.status == "failed" and last.failure is not None and ending.failure != last.failure:
        what = "the failure is not the one that was accepted last"
        yield violation(Invariant.CONTENT, what, [ending.place, last.place])
    closed = result_of(rollout, course.closed.get(f"{rollout.id}/{ending.attempt}"))
    if closed is not None and closed.left != ending.left:
        what = "evidence or final state is not what the session left"
        yield violation(Invariant.CONTENT, what, [ending.place, closed.place])


def result_of(rollout: Rollout, entry: Entry | None) -> Result | None:
    """The result that an entry accepted."""
    if entry is None:
        return None
    return next((r for r in rollout.results.get(entry.subject, ()) if r.type == entry.type), None)


def _differs(what: str, ending: Ending, entry: Entry, expected: object, found: object) -> Violation:
    return violation(Invariant.CONTENT, f"{what} differ", [ending.place, entry.place], expected, found)
