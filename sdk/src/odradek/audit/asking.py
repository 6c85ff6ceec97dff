"""What was asked, in every attempt: of the task's world and model, with the conversation as it stood, as replied."""

from collections import defaultdict
from collections.abc import Iterator

from odradek.audit.conversation import result_of
from odradek.audit.course import Course
from odradek.audit.digests import Digest, Messages
from odradek.audit.facts import Request, Result, Rollout, Task
from odradek.audit.findings import Invariant, Violation, violation


def check_asking(rollout: Rollout, course: Course, task: Task) -> Iterator[Violation]:
    calls: dict[str, list[tuple[int, str, Request]]] = defaultdict(list)
    for request_id, (request, *_) in rollout.requests.items():
        session, _, what = request_id.rpartition("/")
        if request.session_id not in ("", session):
            yield violation(
                Invariant.REQUESTS, f"{request_id} is for session {request.session_id}", [request.place]
            )
        if what.isdecimal():
            calls[session].append((int(what), request_id, request))
        elif request.type == "SessionRequested" and request.world != task.world:
            other = "the session was asked for with another environment, task, answer, tools or seed than the task's"
            yield violation(Invariant.REQUESTS, other, [request.place, task.place])
    for session, asked in calls.items():
        opened = result_of(rollout, course.ready.get(session))
        yield from _Attempt(rollout, task, opened).check(
            [(key, request) for _, key, request in sorted(asked)]
        )


class _Attempt:
    """The calls of one attempt, in the order in which they were asked."""

    def __init__(self, rollout: Rollout, task: Task, opened: Result | None) -> None:
        self._rollout = rollout
        self._task = task
        self._tools: Digest = task.tools if task.own_tools or opened is None else opened.tools
        self._said: Messages = task.messages + (opened.observation if opened else ())
        self._reply: Result | None = None

    def check(self, asked: list[tuple[str, Request]]) -> Iterator[Violation]:
        for request_id, request in asked:
            if request.call is not None:
                yield from self._check_tool_call(request_id, request)
                continue
            if request.type == "ProgramRequested":
                yield from self._check_program(request_id, request)
                continue
            yield from self._check_model_call(request_id, request)
            replies = self._rollout.results.get(request_id, ())
            self._reply = next((reply for reply in replies if reply.type == "ModelCallCompleted"), None)
            self._said = request.messages + ((self._reply.message,) if self._reply else ())

    def _check_program(self, request_id: str, request: Request) -> Iterator[Violation]:
        """What a program asks is its own affair, but not which model."""
        if request.model != self._task.model:
            places = [request.place, self._task.place]
            yield violation(Invariant.REQUESTS, f"{request_id} is for another model", places)

    def _check_model_call(self, request_id: str, request: Request) -> Iterator[Violation]:
        places = [request.place, self._task.place]
        if (request.model, request.tools) != (self._task.model, self._tools):
            yield violation(
                Invariant.REQUESTS, f"{request_id} is for another model, or with other tools", places
            )
        if request.messages[: len(self._said)] != self._said:
            what = f"{request_id} was asked with other messages than were said before"
            yield violation(Invariant.STEPS, what, places)

    def _check_tool_call(self, request_id: str, request: Request) -> Iterator[Violation]:
        """A harness may call what it likes; but what the model called by this id is what it wanted."""
        assert request.call is not None, "only tool calls are checked here"
        call_id, _, call = request.call
        wanted = [made for made in (self._reply.calls if self._reply else ()) if made[0] == call_id]
        if self._reply and wanted and (call_id, call) not in wanted:
            what = f"{request_id} was asked otherwise than the model called it"
            yield violation(Invariant.STEPS, what, [request.place, self._reply.place])
