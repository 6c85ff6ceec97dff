"""One attempt of a rollout: its conversation, its harness, and the steps that were answered."""

from datetime import datetime

from odradek.engine import driver
from odradek.engine.pool import Pool
from odradek.engine.programs import Running
from odradek.harness import Effect, Harness, Progress, Rollout
from odradek_schemas import ids
from odradek_schemas.events import (
    Asked,
    ModelCallCompleted,
    ProgramFinished,
    RolloutRequested,
    SessionReady,
    ToolCallCompleted,
)
from odradek_schemas.failures import Failure
from odradek_schemas.messages import Message, Sampling, ToolCall, ToolSpec
from odradek_schemas.rollouts import ModelStep, ProgramStep, Step, ToolStep


class Attempt:
    """The state of one attempt.

    `session_open`: there may be a world that nobody asked to close; `asked_with`: the sampling of the call under way,
    where it is not the rollout's own; `running`: the program that plays; `wants_transcript`: its world asked to be told
    what was said.
    """

    __slots__ = (
        "_answers",
        "_calls",
        "_last_step",
        "_pool",
        "_run",
        "asked_with",
        "messages",
        "number",
        "progress",
        "prompt_messages",
        "request",
        "running",
        "session_id",
        "session_open",
        "steps",
        "tokens",
        "tools",
        "wants_transcript",
    )

    def __init__(self, request: RolloutRequested, number: int, now: datetime) -> None:
        self.request = request
        self.number = number
        self.session_id = ids.session_id(request.rollout_id, number)
        self.session_open = False
        self.wants_transcript = False
        self.messages: list[Message] = list(request.messages)
        self.prompt_messages = len(self.messages)
        self.tools: list[ToolSpec] = request.tools
        self.steps: list[Step] = []
        self.tokens = 0
        self.progress = Progress(now)
        self.asked_with: Sampling | None = None
        self.running: Running | None = None
        self._pool: Pool | None = None
        self._last_step = 0
        self._run: driver.Run | None = None
        self._calls: dict[str, ToolCall] = {}
        self._answers: dict[str, ToolCallCompleted] = {}

    def opened(self, ready: SessionReady) -> None:
        """The world is there: what it shows at first belongs to the prompt."""
        self.tools = self.request.tools or ready.tools
        self.wants_transcript = ready.wants_transcript
        self.messages.extend(ready.observation)
        self.prompt_messages = len(self.messages)

    def start(self, harness: Harness) -> Effect | Failure | None:
        """Run the harness to its first await."""
        request = self.request
        rollout = Rollout(
            attempt=self.number,
            seed=request.seed,
            task=request.task,
            tools=self.tools,
            sampling=request.sampling,
            has_session=request.session,
            conversation=self.messages,
            progress=self.progress,
        )
        run = driver.start(harness, rollout)
        if isinstance(run, Failure):
            return run
        self._run = run
        return self.resume(None)

    def resume(self, result: object) -> Effect | Failure | None:
        """Give the harness what it waits for; see `driver.step`."""
        assert self._run is not None, "a harness is resumed only after it was started"
        outcome = driver.step(self._run, result)
        if outcome is None or isinstance(outcome, Failure):
            self._run = None
        return outcome

    def next_id(self) -> str:
        """The id of the next request."""
        self._last_step += 1
        return ids.call_id(self.request.rollout_id, self.number, self._last_step)

    def replied(self, event: ModelCallCompleted) -> None:
        """Take in the model's reply, and see whether it reached a bound."""
        progress = self.progress
        progress.turn += 1
        self.tokens += event.usage.total_tokens
        self.steps.append(
            ModelStep(
                call_id=event.call_id,
                turn=progress.turn,
                message=len(self.messages),
                finish_reason=event.finish_reason,
                usage=event.usage,
                latency_ms=event.latency_ms,
                sampling=self.asked_with,
                tokens=event.tokens,
            )
        )
        self.messages.append(event.message)
        progress.bound = self._bound()

    def launched(self, program: Running) -> None:
        """A program plays from here on. It has tools of its own, which come to those of the session."""
        self.running = program
        self.progress.played = True
        self.tools = [*self.tools]

    def overheard(self, program: Running, event: ModelCallCompleted, asked: Asked) -> None:
        """Take in a call that the program made, and see whether it reached a bound."""
        progress = self.progress
        program.answered()
        progress.turn += 1
        self.tokens += event.usage.total_tokens
        pool = self._pool or Pool(self.messages, self.tools)
        self._pool = pool
        context = [pool.place(message) for message in asked.messages]
        self.steps.append(
            ModelStep(
                call_id=event.call_id,
                turn=progress.turn,
                message=pool.add(event.message),
                finish_reason=event.finish_reason,
                usage=event.usage,
                latency_ms=event.latency_ms,
                sampling=asked.sampling,
                tokens=event.tokens,
                context=context,
                offered=[pool.offer(tool) for tool in asked.tools],
            )
        )
        progress.bound = self._bound()

    def heard(self, call_id: str) -> bool:
        """Whether a call is among the steps."""
        return any(step.call_id == call_id for step in self.steps)

    def ran(self, event: ProgramFinished) -> Running:
        """Take in the program's end."""
        running, self.running, self._pool = self.running, None, None
        assert running is not None, "only a program that was launched ends"
        self.steps.append(
            ProgramStep(
                call_id=event.call_id,
                program=running.name,
                exit_code=event.exit_code,
                result=event.result,
                failed=event.failed,
                overdue=event.overdue,
                log=event.log,
                latency_ms=event.latency_ms,
            )
        )
        return running

    def _bound(self) -> str | None:
        limits = self.request.limits
        if self.progress.turn >= limits.max_turns:
            return "max_turns"
        if limits.max_total_tokens is not None and self.tokens >= limits.max_total_tokens:
            return "max_total_tokens"
        return None

    def acting(self, calls: dict[str, ToolCall]) -> None:
        """Tool calls are under way, by call id in the order of the model's reply."""
        self._calls = calls
        self._answers = {}

    def observed(self, event: ToolCallCompleted) -> bool:
        """Take in an observation; True when it was the last one under way."""
        self._answers[event.call_id] = event
        return len(self._answers) == len(self._calls)

    def settle(self) -> list[Message]:
        """Put the observations that came at the end of the conversation: messages as called, steps as accepted."""
        calls, answers = self._calls, self._answers
        if not calls:
            return []
        answered = [call_id for call_id in calls if call_id in answers]
        place = {call_id: len(self.messages) + index for index, call_id in enumerate(answered)}
        observations = [_observation(calls[call_id], answers[call_id]) for call_id in answered]
        self.messages.extend(observations)
        self.steps.extend(
            ToolStep(
                call_id=call_id,
                turn=self.progress.turn,
                message=place[call_id],
                name=calls[call_id].function.name,
                is_error=event.is_error,
                latency_ms=event.latency_ms,
                interrupted=event.interrupted,
            )
            for call_id, event in answers.items()
        )
        self.progress.done = self.progress.done or any(event.done for event in answers.values())
        self._calls, self._answers = {}, {}
        return observations

    def close(self) -> Failure | None:
        """Drop the harness, if it still runs, and keep what was observed so far."""
        run, self._run = self._run, None
        failure = driver.close(run) if run is not None else None
        self.settle()
        return failure


def _observation(call: ToolCall, event: ToolCallCompleted) -> Message:
    return Message(role="tool", content=event.content, tool_call_id=call.id)
