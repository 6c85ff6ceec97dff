"""What the log tells of one rollout, reduced to what the audit compares."""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from odradek.audit.digests import Digest, Messages
from odradek.audit.records import Place

Usage = tuple[int, int, int, int]
"""Prompt, completion, cached and reasoning tokens."""


Failure = tuple[str, Digest]
"""A failure's kind, and the digest of all of it."""
Calls = tuple[tuple[str, Digest], ...]
"""The tool calls of a reply: id and digest of each."""


class Placed(Protocol):
    """A fact that one record told."""

    @property
    def place(self) -> Place: ...


class Task(NamedTuple):
    """A `RolloutRequested`. `identity`: what a trajectory repeats; `world`: what a session is opened with."""

    place: Place
    digest: Digest
    identity: Digest
    world: Digest
    model: str
    messages: Messages
    tools: Digest
    own_tools: bool


class Request(NamedTuple):
    """A request of any kind. `messages` of model calls, `call` of tool calls: (id, name, digest).

    `discard`: a session's end that nobody waits for.
    """

    place: Place
    type: str
    raw: Digest
    model: str = ""
    tools: Digest = 0
    messages: Messages = ()
    call: tuple[str, str, Digest] | None = None
    turn: int = 0
    world: Digest = 0
    session_id: str = ""
    discard: bool = False


class Result(NamedTuple):
    """A result on `model-results` or `observations`, about `subject`: a call or a session.

    `heard`: how many messages a program asked with, None where it was not a program that asked.
    """

    place: Place
    type: str
    subject: str
    digest: Digest
    step: Digest = 0
    message: Digest = 0
    calls: Calls = ()
    observation: Messages = ()
    tools: Digest = 0
    left: Digest = 0
    heard: int | None = None


class Entry(NamedTuple):
    """A `JournalAppended`. `subject` is what its input is about; `requests` are the ids of what it caused."""

    place: Place
    sequence: int
    type: str
    subject: str
    digest: Digest
    requests: tuple[str, ...]
    source: Place | None
    ended: str | None
    usage: Usage | None
    failure: Failure | None


class Step(NamedTuple):
    """`context`: the numbers of the messages that a program asked with."""

    kind: str
    call_id: str
    turn: int
    message: int
    digest: Digest
    name: str
    context: tuple[int, ...] | None = None


class Ending(NamedTuple):
    """A `TrajectoryFinished`. `told`: what a reward repeats; `left`: evidence and final state.

    `observed`: observations by message, (id of the call, digest of the content).
    """

    place: Place
    identity: Digest
    messages: Messages
    prompt: int
    steps: tuple[Step, ...]
    observed: dict[int, tuple[str, Digest]]
    tools: Digest
    left: Digest
    status: str
    failure: Failure | None
    attempt: int
    failed_attempts: int
    usage: Usage
    told: Digest

    @property
    def of_program(self) -> bool:
        """Whether a program played: then there are its prompts and its tools as well."""
        return any(step.kind == "program" or step.context is not None for step in self.steps)


class Score(NamedTuple):
    """A primary `RewardAssigned`."""

    place: Place
    masked: bool
    null: bool
    status: str
    failure: Failure | None
    told: Digest
    trajectory: Place


@dataclass(slots=True)
class Rollout:
    """All that was seen of one rollout so far, in whatever order the topics told it."""

    id: str
    index: int
    tasks: list[Task] = field(default_factory=list)
    requests: dict[str, list[Request]] = field(default_factory=dict)
    results: dict[str, list[Result]] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    snapshots: list[tuple[Place, tuple[Digest, ...]]] = field(default_factory=list)
    ends: list[tuple[Place, str]] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    suspect: bool = False

    @property
    def over(self) -> bool:
        """Whether its journal has said how it ended."""
        return bool(self.ends) or any(entry.ended for entry in reversed(self.entries))
