"""The steps of a program: the calls that it made by itself, and its end."""

from collections.abc import Iterator

from odradek.audit.facts import Ending, Result, Rollout, Step
from odradek.audit.findings import Invariant, Violation, violation

_KINDS = {"model": "ModelCallCompleted", "program": "ProgramFinished"}


def check_heard(rollout: Rollout, ending: Ending, step: Step) -> Iterator[Violation]:
    """A step says what its result says. Of what a program asked with only the number of messages is compared: echoes of
    replies stand for what they repeat."""
    results = rollout.results.get(step.call_id, ())
    result = next((r for r in results if r.type == _KINDS[step.kind]), None)
    if result is None:
        yield violation(
            Invariant.STEPS, f"the result of step {step.call_id} is not in the log", [ending.place]
        )
        return
    if step.digest != result.step:
        what = f"step {step.call_id} tells its result otherwise than the result itself"
        yield violation(Invariant.STEPS, what, [ending.place, result.place])
    if step.context is not None:
        yield from _check_call(ending, step, step.context, result)


def _check_call(ending: Ending, step: Step, context: tuple[int, ...], result: Result) -> Iterator[Violation]:
    places = [ending.place, result.place]
    if not 0 <= step.message < len(ending.messages) or ending.messages[step.message] != result.message:
        yield violation(
            Invariant.CONTENT, f"message {step.message} is not the reply to {step.call_id}", places
        )
    if len(context) != result.heard or not all(0 <= place < step.message for place in context):
        what = f"the context of step {step.call_id} is not what it was asked with"
        yield violation(Invariant.STEPS, what, places, f"{result.heard} messages", f"{len(context)} messages")
