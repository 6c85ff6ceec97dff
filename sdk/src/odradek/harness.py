"""Harnesses: how an agent plays a rollout, as a plain coroutine.

Each `await` of a method of `Rollout` is a durable step: its result is in the log before the harness sees it, and after
a crash the harness is run again against the recorded results and arrives at the same place. So a harness must do the
same each time it is shown the same: its time is `rollout.now()`, its chance `rollout.random`, its rest
`rollout.sleep()`. It may await nothing else; asyncio is out of its reach.
"""

import types
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from random import Random
from typing import Any, ClassVar

from odradek_schemas.base import JsonObject
from odradek_schemas.messages import Message, Sampling, ToolCall, ToolSpec

LONGEST_SLEEP_SECONDS = 366 * 86_400.0


class HarnessMisuse(Exception):
    """A harness asked for what a rollout can't give. Ends the rollout as `harness_error`."""


class Harness(ABC):
    """Plays rollouts. One instance plays many at once: what belongs to one rollout is a local variable of `run`."""

    name: ClassVar[str]

    @abstractmethod
    async def run(self, rollout: "Rollout") -> None:
        """Play one attempt to its end. Returning ends it as completed, or truncated where a bound said stop."""


@dataclass(slots=True)
class AskModel:
    """The harness waits for a reply; `sampling` None: the rollout's own."""

    sampling: Sampling | None


@dataclass(slots=True)
class CallTools:
    """The harness waits for the observations of `calls`, carried out in parallel."""

    calls: list[ToolCall]


@dataclass(slots=True)
class RunProgram:
    """The harness waits for a program to end, which asks the model by itself."""

    program: str
    prompt: str


@dataclass(slots=True)
class Sleep:
    """The harness waits for time to pass."""

    seconds: float


Effect = AskModel | CallTools | RunProgram | Sleep


@dataclass(slots=True)
class Progress:
    """What the engine knows of an attempt and its harness may see. The engine writes it.

    `bound` is the limit that was reached; `stopped` whether the harness was told so; `said` what the harness added to
    the conversation since the last request; `played` whether a program had its part in the conversation.
    """

    now: datetime
    turn: int = 0
    done: bool = False
    bound: str | None = None
    stopped: bool = False
    played: bool = False
    said: list[Message] = field(default_factory=list)


class Rollout:
    """One attempt of a rollout, as its harness sees it.

    `attempt` counts from 1; `task` is what the agent's side may know; `tools` are those that the model may call.
    """

    def __init__(
        self,
        *,
        attempt: int,
        seed: int,
        task: JsonObject,
        tools: Sequence[ToolSpec],
        sampling: Sampling,
        has_session: bool,
        conversation: list[Message],
        progress: Progress,
    ) -> None:
        self.attempt = attempt
        self.task = task
        self.tools = tools
        self.has_session = has_session
        self._seed = seed
        self._sampling = sampling
        self._conversation = conversation
        self._progress = progress

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far: prompt, replies, observations, and what the harness added."""
        return tuple(self._conversation)

    @property
    def turn(self) -> int:
        """How many replies the model gave in this attempt."""
        return self._progress.turn

    @property
    def finished(self) -> bool:
        """Whether to stop: a tool ended the episode, or a bound is reached.

        A harness that is told to stop by a bound has been cut short: its rollout ends as truncated.
        """
        progress = self._progress
        if progress.done:
            return True
        progress.stopped = progress.bound is not None
        return progress.stopped

    @cached_property
    def random(self) -> Random:
        """Chance that falls the same way on each re-run of this attempt, and another way in the next one."""
        return Random(f"{self._seed}/{self.attempt}")

    def now(self) -> datetime:
        """The recorded time (UTC) of what the harness was last told."""
        return self._progress.now.astimezone(UTC)

    def add(self, *messages: Message) -> None:
        """Put messages of the harness's own at the end of the conversation."""
        for message in messages:
            if not isinstance(message, Message):
                raise TypeError(f"rollout.add takes Message, not {type(message).__name__}")
        self._conversation.extend(messages)
        self._progress.said.extend(messages)

    async def model(self, **overrides: Any) -> Message:
        """Ask the model to go on with the conversation; its reply is put at the end and returned.

        `overrides` are fields of `Sampling` for this call. After a bound was reached there is no reply: the attempt
        ends here, as truncated.

        Raises:
            HarnessMisuse: a program has played: what it said to the model is not this harness's conversation.
        """
        if self._progress.played:
            raise HarnessMisuse("rollout.model: a program has played, and the conversation is the program's")
        sampling = _overridden(self._sampling, overrides) if overrides else None
        reply: Message = await _perform(AskModel(sampling))
        return reply

    async def act(self, tool_calls: Sequence[ToolCall]) -> list[Message]:
        """Carry out tool calls, in parallel; their observations are put at the end, in the order of the calls.

        Raises:
            HarnessMisuse: the environment has no session, so there is nothing to act on (see `has_session`).
        """
        if not self.has_session:
            raise HarnessMisuse("rollout.act: this environment has no session; ask rollout.has_session first")
        if not tool_calls:
            return []
        observations: list[Message] = await _perform(CallTools(list(tool_calls)))
        return observations

    async def program(self, name: str, prompt: str | None = None) -> str:
        """Let an agent program play: run it in the session's workspace until it ends, and return what it said last.

        It asks the model over HTTP; its calls become this rollout's steps, as they come. An end that is not well ends the
        attempt: as the model side failed, as truncated where a bound was reached, or as `program_error`. `prompt` None:
        the conversation so far.

        Raises:
            HarnessMisuse: the environment has no session, so there is no workspace.
        """
        if not self.has_session:
            raise HarnessMisuse(
                "rollout.program: this environment has no session, so a program has no place to work in"
            )
        said = "\n\n".join(message.text for message in self._conversation if message.text)
        result: str = await _perform(RunProgram(name, said if prompt is None else prompt))
        return result

    async def sleep(self, seconds: float) -> None:
        """Wait; the time passes durably, whichever worker dies meanwhile.

        Raises:
            ValueError: `seconds` is negative, not a number, or longer than a year.
        """
        if not 0 <= seconds <= LONGEST_SLEEP_SECONDS:
            raise ValueError(
                f"rollout.sleep({seconds!r}): give seconds between 0 and {LONGEST_SLEEP_SECONDS:.0f}"
            )
        await _perform(Sleep(float(seconds)))


@types.coroutine
def _perform(effect: Effect) -> Generator[Effect, Any, Any]:
    return (yield effect)


def _overridden(sampling: Sampling, overrides: dict[str, Any]) -> Sampling:
    return Sampling.model_validate({**sampling.model_dump(exclude_none=True), **overrides})
