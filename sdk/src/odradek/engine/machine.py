"""The life of one rollout.

RolloutRequested -> (session opened) -> the harness runs -> (session closed, evidence) -> TrajectoryFinished.
What is not waited for is not accepted: results that are late, doubled, or of an earlier attempt change nothing.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from odradek.engine import record, requests
from odradek.engine.attempt import Attempt
from odradek.engine.decision import Decision
from odradek.engine.prints import canonical, fingerprint
from odradek.engine.programs import PROGRAM_GRACE_SECONDS, Running, Truncated, judged
from odradek.engine.record import Ending, Spent
from odradek.engine.waits import ANSWER_GRACE_SECONDS, DEADLINES, ROLLOUT_TIMER, STAGES, Wait, WaitKind
from odradek.harness import AskModel, CallTools, Effect, Harness, RunProgram, Sleep
from odradek_schemas import events as e
from odradek_schemas.events import JournalInput
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.messages import ToolCall
from odradek_schemas.rollouts import RolloutStatus

_GRACE = timedelta(seconds=ANSWER_GRACE_SECONDS)
_PROGRAM_GRACE = timedelta(seconds=PROGRAM_GRACE_SECONDS)


class RolloutMachine:
    """One rollout. Deterministic: the same inputs at the same recorded times make the same decisions.

    `harness` is a failure where the rollout's harness can't be had. The first input is the `RolloutRequested` itself,
    unless the rollout must end before it begins.
    """

    __slots__ = ("_attempt", "_ending", "_harness", "_spent", "_waits", "ended", "request")

    def __init__(self, request: e.RolloutRequested, harness: Harness | Failure) -> None:
        self.request = request
        self.ended = False
        self._harness = harness
        self._attempt = Attempt(request, 1, request.time)
        self._spent: Spent | None = None
        self._ending: Ending | None = None
        self._waits: dict[str, Wait] = {}

    def accept(self, event: JournalInput, now: datetime) -> Decision | None:
        """Take in one input at its recorded time. None: nobody waits for it, and nothing changed."""
        if self.ended:
            return None
        out = Decision(now)
        self._attempt.progress.now = now
        return out if _ACCEPT[type(event)](self, event, out) else None

    def due(self, timer: str) -> datetime | None:
        """When `timer` is due; None: it is not set (any more)."""
        wait = self._waits.get(timer)
        return wait and wait.due

    def timers(self) -> list[tuple[datetime, str]]:
        """All timers that are set."""
        return [(wait.due, timer) for timer, wait in self._waits.items()]

    def resume_at(self, attempt: int, *, session_open: bool, spent: Spent) -> None:
        """Stand at an attempt without having played it: all that such a rollout can do is to end."""
        self._attempt = Attempt(self.request, attempt, self.request.time)
        self._attempt.session_open = session_open
        self._spent = spent

    def drop(self) -> Failure | None:
        """Let go of the harness; the machine is not used any more. A failure: the harness raised at that."""
        self.ended = True
        return self._attempt.close()

    # Inputs: each says whether it was waited for.

    def _requested(self, event: e.RolloutRequested, out: Decision) -> bool:
        if self._spent is not None:
            return False
        self._spent = Spent(out.now)
        self._wait(out, ROLLOUT_TIMER, WaitKind.ROLLOUT, event.limits.rollout_seconds)
        if isinstance(self._harness, Failure):
            self._end(out, Ending(RolloutStatus.FAILED, failure=self._harness))
        else:
            self._begin(out)
        return True

    def _ready(self, event: e.SessionReady, out: Decision) -> bool:
        if not self._take(event.session_id, WaitKind.OPENING):
            return False
        self._attempt.opened(event)
        self._start(out)
        return True

    def _replied(self, event: e.ModelCallCompleted, out: Decision) -> bool:
        if event.asked is not None:
            return self._overheard(event, event.asked, out)
        if not self._take(event.call_id, WaitKind.MODEL):
            return False
        self._paid().add(event)
        self._attempt.replied(event)
        self._follow(self._attempt.resume(event.message), out)
        return True

    def _overheard(self, event: e.ModelCallCompleted, asked: e.Asked, out: Decision) -> bool:
        """A call that the program made. One that is written twice is heard once."""
        attempt, running = self._attempt, self._attempt.running
        if running is None or not running.made(event.call_id) or attempt.heard(event.call_id):
            return False
        self._paid().add(event)
        attempt.overheard(running, event, asked)
        if attempt.progress.bound is not None:
            self._end_access(out, f"{attempt.progress.bound} is reached")
        return True

    def _model_failed(self, event: e.ModelCallFailed, out: Decision) -> bool:
        running = self._attempt.running
        if running is not None and running.made(event.call_id):
            running.failed(event.failure)
            if running.hopeless:
                self._end_access(out, f"{running.failures} calls in a row failed")
            return True
        if not self._take(event.call_id, WaitKind.MODEL):
            return False
        if event.failure.kind is FailureKind.CONTEXT_OVERFLOW and self._attempt.progress.turn:
            self._finish(out, truncated_by=FailureKind.CONTEXT_OVERFLOW.value)
        else:
            self._fail(out, event.failure)
        return True

    def _observed(self, event: e.ToolCallCompleted, out: Decision) -> bool:
        if not self._take(event.call_id, WaitKind.TOOL):
            return False
        if self._attempt.observed(event):
            self._follow(self._attempt.resume(self._attempt.settle()), out)
        return True

    def _tool_failed(self, event: e.ToolCallFailed, out: Decision) -> bool:
        if not self._take(event.call_id, WaitKind.TOOL):
            return False
        self._fail(out, event.failure)
        return True

    def _program_ended(self, event: e.ProgramFinished, out: Decision) -> bool:
        if not self._take(event.call_id, WaitKind.PROGRAM):
            return False
        attempt = self._attempt
        self._end_access(out, "the program has ended")
        found = judged(attempt.ran(event), event, attempt.progress.bound)
        if found is None:
            self._follow(attempt.resume(event.result), out)
        elif isinstance(found, Truncated):
            self._finish(out, truncated_by=found.by)
        else:
            self._fail(out, found)
        return True

    def _program_failed(self, event: e.ProgramFailed, out: Decision) -> bool:
        if not self._take(event.call_id, WaitKind.PROGRAM):
            return False
        self._fail(out, event.failure)
        return True

    def _closed(self, event: e.SessionClosed, out: Decision) -> bool:
        if self._ending is None or not self._take(event.session_id, WaitKind.CLOSING):
            return False
        self._ending.closed = event
        self._end(out, self._ending)
        return True

    def _session_failed(self, event: e.SessionFailed, out: Decision) -> bool:
        if not (
            self._take(event.session_id, WaitKind.OPENING) or self._take(event.session_id, WaitKind.CLOSING)
        ):
            return False
        self._attempt.session_open = False
        self._fail(out, event.failure)
        return True

    def _cancelled(self, event: e.RunCancelled, out: Decision) -> bool:
        failure = Failure(kind=FailureKind.RUN_CANCELLED, stage=self._stage(), message=event.reason)
        self._end(out, Ending(RolloutStatus.CANCELLED, failure=failure))
        return True

    def _faulted(self, event: e.RolloutFaulted, out: Decision) -> bool:
        self._end(out, Ending(RolloutStatus.FAILED, failure=event.failure))
        return True

    def _fired(self, event: e.TimerFired, out: Decision) -> bool:
        stage = self._stage()
        wait = self._waits.pop(event.timer, None)
        if wait is None:
            return False
        if wait.kind is WaitKind.SLEEP:
            self._follow(self._attempt.resume(None), out)
        elif wait.kind is WaitKind.ROLLOUT:
            seconds = self.request.limits.rollout_seconds
            message = f"the rollout did not end within {seconds:g} s"
            failure = Failure(kind=FailureKind.ROLLOUT_DEADLINE, stage=stage, message=message)
            self._end(out, Ending(RolloutStatus.FAILED, failure=failure))
        else:
            message = f"no answer for {event.timer} ({wait.kind.value}) before its deadline"
            self._fail(out, Failure(kind=DEADLINES[wait.kind], stage=STAGES[wait.kind], message=message))
        return True

    # The parts of a life.

    def _begin(self, out: Decision) -> None:
        attempt = self._attempt
        if not self.request.session:
            self._start(out)
            return
        attempt.session_open = True
        request = requests.open_session(attempt, out.now)
        self._ask(out, request)
        self._wait(out, attempt.session_id, WaitKind.OPENING, request.timeout_seconds, _GRACE)

    def _start(self, out: Decision) -> None:
        assert isinstance(self._harness, Harness), "a rollout without a harness does not begin"
        self._follow(self._attempt.start(self._harness), out)

    def _follow(self, effect: Effect | Failure | None, out: Decision) -> None:
        """Do what the harness awaits, or see it off."""
        progress = self._attempt.progress
        if isinstance(effect, Failure):
            self._fail(out, effect)
        elif effect is None:
            self._finish(out, truncated_by=progress.bound if progress.stopped else None)
        elif progress.done:
            self._finish(out)
        elif isinstance(effect, AskModel):
            self._ask_model(effect, out)
        elif isinstance(effect, CallTools):
            self._call_tools(effect, out)
        elif isinstance(effect, RunProgram):
            self._run_program(effect, out)
        else:
            self._sleep(effect, out)

    def _ask_model(self, effect: AskModel, out: Decision) -> None:
        attempt = self._attempt
        progress = attempt.progress
        if progress.bound is not None:
            self._finish(out, truncated_by=progress.bound)
            return
        call_id = attempt.next_id()
        deadline = min(
            out.now + timedelta(seconds=self.request.limits.model_seconds), self._waits[ROLLOUT_TIMER].due
        )
        attempt.asked_with = effect.sampling
        sampling = effect.sampling or self.request.sampling
        out.requests.append(requests.model_call(attempt, call_id, sampling, out.now, deadline))
        chosen = b"" if effect.sampling is None else canonical(sampling)
        said = [canonical(message) for message in progress.said]
        progress.said.clear()
        out.prints.append(fingerprint(call_id, b"model", b"%d" % len(attempt.messages), chosen, *said))
        self._wait_until(out, call_id, WaitKind.MODEL, deadline + _GRACE)

    def _call_tools(self, effect: CallTools, out: Decision) -> None:
        attempt = self._attempt
        calls: dict[str, ToolCall] = {}
        for call in effect.calls:
            call_id = attempt.next_id()
            calls[call_id] = call
            request = requests.tool_call(attempt, call_id, call, out.now)
            out.requests.append(request)
            out.prints.append(fingerprint(call_id, b"tool", canonical(call)))
            self._wait(out, call_id, WaitKind.TOOL, request.timeout_seconds, _GRACE)
        attempt.acting(calls)

    def _run_program(self, effect: RunProgram, out: Decision) -> None:
        """It has its own time, and no more than the rollout has left."""
        attempt = self._attempt
        call_id = attempt.next_id()
        left = (self._waits[ROLLOUT_TIMER].due - out.now).total_seconds()
        seconds = min(self.request.limits.program_seconds, left)
        expires = out.now + timedelta(seconds=seconds)
        attempt.launched(Running(call_id, effect.program, expires))
        out.requests.append(requests.run_program(attempt, call_id, effect, seconds, out.now))
        out.prints.append(fingerprint(call_id, b"program", effect.program.encode(), effect.prompt.encode()))
        self._wait_until(out, call_id, WaitKind.PROGRAM, expires + _PROGRAM_GRACE)

    def _end_access(self, out: Decision, reason: str) -> None:
        """What the program still asks is not answered. Once is enough."""
        running = self._attempt.running
        if running is not None and running.open:
            running.open = False
            out.requests.append(requests.end_access(self._attempt, running, reason, out.now))

    def _sleep(self, effect: Sleep, out: Decision) -> None:
        sleep_id = self._attempt.next_id()
        out.prints.append(fingerprint(sleep_id, b"sleep", repr(effect.seconds).encode()))
        self._wait(out, sleep_id, WaitKind.SLEEP, effect.seconds)

    def _finish(self, out: Decision, truncated_by: str | None = None) -> None:
        """The attempt is played: close its session for the evidence, then end."""
        attempt = self._attempt
        failure = attempt.close()
        if failure is not None:
            self._fail(out, failure)
            return
        status = RolloutStatus.COMPLETED if truncated_by is None else RolloutStatus.TRUNCATED
        ending = Ending(status, truncated_by=truncated_by)
        if not attempt.session_open:
            self._end(out, ending)
            return
        self._ending = ending
        request = requests.close_session(attempt, out.now, discard=False)
        self._ask(out, request)
        attempt.session_open = False
        self._wait(out, attempt.session_id, WaitKind.CLOSING, request.timeout_seconds, _GRACE)

    def _fail(self, out: Decision, failure: Failure) -> None:
        """The attempt failed: begin another one where that may help, or end."""
        attempt = self._attempt
        if not failure.retried or attempt.number >= self.request.limits.max_attempts:
            self._end(out, Ending(RolloutStatus.FAILED, failure=failure))
            return
        self._leave(out)
        self._paid().failed_attempts.append(failure)
        self._ending = None
        self._waits = {ROLLOUT_TIMER: self._waits[ROLLOUT_TIMER]}
        self._attempt = Attempt(self.request, attempt.number + 1, out.now)
        self._begin(out)

    def _end(self, out: Decision, ending: Ending) -> None:
        self._leave(out)
        self._waits.clear()
        self.ended = True
        out.finished = record.finished(self._attempt, self._spent or Spent(out.now), ending, out.now)

    def _leave(self, out: Decision) -> None:
        """Drop the harness, its program's access, and the session if nobody asked for its evidence."""
        attempt = self._attempt
        self._end_access(out, "the attempt has ended")
        attempt.close()
        if attempt.session_open:
            self._ask(out, requests.close_session(attempt, out.now, discard=True))

    def _ask(self, out: Decision, request: e.SessionRequested | e.SessionCloseRequested) -> None:
        out.requests.append(request)
        out.prints.append(fingerprint(request.id))

    def _wait(
        self, out: Decision, timer: str, kind: WaitKind, seconds: float, grace: timedelta = timedelta()
    ) -> None:
        self._wait_until(out, timer, kind, out.now + timedelta(seconds=seconds) + grace)

    def _wait_until(self, out: Decision, timer: str, kind: WaitKind, due: datetime) -> None:
        self._waits[timer] = Wait(kind, due)
        out.timers.append((due, timer))

    def _take(self, timer: str, kind: WaitKind) -> bool:
        """Whether `timer` is waited for as `kind`; if so, the wait is over."""
        wait = self._waits.get(timer)
        if wait is None or wait.kind is not kind:
            return False
        del self._waits[timer]
        return True

    def _stage(self) -> Stage:
        """Where the rollout is: what it waits for apart from its own end."""
        kinds = [wait.kind for wait in self._waits.values() if wait.kind is not WaitKind.ROLLOUT]
        return STAGES[kinds[0]] if kinds else Stage.HARNESS

    def _paid(self) -> Spent:
        assert self._spent is not None, "only a rollout that began has costs"
        return self._spent


_ACCEPT: dict[type[Any], Callable[[RolloutMachine, Any, Decision], bool]] = {
    e.RolloutRequested: RolloutMachine._requested,
    e.SessionReady: RolloutMachine._ready,
    e.ModelCallCompleted: RolloutMachine._replied,
    e.ModelCallFailed: RolloutMachine._model_failed,
    e.ToolCallCompleted: RolloutMachine._observed,
    e.ToolCallFailed: RolloutMachine._tool_failed,
    e.ProgramFinished: RolloutMachine._program_ended,
    e.ProgramFailed: RolloutMachine._program_failed,
    e.SessionClosed: RolloutMachine._closed,
    e.SessionFailed: RolloutMachine._session_failed,
    e.RunCancelled: RolloutMachine._cancelled,
    e.RolloutFaulted: RolloutMachine._faulted,
    e.TimerFired: RolloutMachine._fired,
}
