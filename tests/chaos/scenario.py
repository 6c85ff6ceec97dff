"""A scenario is data: the run under way, what strikes it and when, and how the run must end."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from odradek_schemas.events import RunStatus
from odradek_schemas.failures import FailureKind
from odradek_schemas.rollouts import Limits

if TYPE_CHECKING:
    from tests.chaos.field import Field

Rows = Callable[[], list[dict[str, Any]]]


def counters() -> list[dict[str, Any]]:
    """Three calls of a tool, the state of which shows at the end whether each was applied exactly once."""
    sums = ((3, 1, 2), (6, 4, 5), (0, 7, 8), (9, 3, 3), (1, 10, 20))
    return [
        {
            "task": {"initial_count": start},
            "messages": [{"role": "user", "content": f"add {first} then add {second} then get the count"}],
            "answer": {"expected_count": start + first + second},
        }
        for start, first, second in sums
    ]


def long_questions() -> list[dict[str, Any]]:
    """One model call each, of a prompt that is too large for a record."""
    filler = "Some facts that matter little. " * 10_000
    options = [{letter: f"Possibility {letter}"} for letter in "ABCD"]
    return [
        {
            "task": {"question": f"Question {number}. {filler}", "options": options},
            "answer": {"expected_answer": "A"},
        }
        for number in range(4)
    ]


@dataclass(frozen=True)
class Load:
    """A run: each row is played `samples` times, `concurrency` rollouts at once."""

    environment: str = "example_session_state_mgmt"
    model: str = "tool_loop"
    rows: Rows = counters
    samples: int = 16
    concurrency: int = 16
    limits: Limits = field(default_factory=lambda: Limits(rollout_seconds=600, model_seconds=120))
    harness: str | None = None

    def write(self, folder: Path) -> Path:
        """The data set as a file."""
        path = folder / f"{self.environment}-{time.time_ns()}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in self.rows()))
        return path


@dataclass(frozen=True)
class Expected:
    """How a run must end. Without `failures` each rollout is completed with a reward of 1.

    With them each is completed or failed with one of these kinds, and at least one is.
    """

    status: RunStatus = RunStatus.FINISHED
    failures: frozenset[FailureKind] = frozenset()
    dead_letters: int = 0
    by_row: tuple[FailureKind | None, ...] | None = None
    """Instead of `failures`: for each row how exactly its rollouts end; None: completed with a reward of 1."""
    repeats_each: int | None = None
    """Most requests of one call beyond the first; None: as many as there are strikes."""


class Recovery(StrEnum):
    """Who goes on, and within how many seconds he should."""

    RESTART = "the same, restarted"
    OTHER = "another worker"
    BROKER = "all, after the broker"
    NONE = "nobody need recover"

    @property
    def goal_seconds(self) -> float | None:
        return {"RESTART": 2.0, "OTHER": 8.0, "BROKER": 10.0}.get(self.name)


class Strike(Protocol):
    """Something done to the system while a run is under way. It returns when it has been done."""

    async def strike(self, on: "Field") -> None:
        """Raises TimeoutError when the moment does not come."""


class Check(Protocol):
    """Something that must be so when the run has ended."""

    async def problems(self, on: "Field") -> list[str]:
        """What is not so."""


@dataclass(frozen=True)
class Ground:
    """What a scenario stands on. Scenarios with equal grounds share one stack, one after another.

    `disks` are folders below the stack's own that lie on small disks of so many MiB.
    """

    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    name: str = "shared"
    disks: Mapping[str, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Scenario:
    """`struck`, `moment` and `fault` are words for the report."""

    name: str
    struck: str
    moment: str
    fault: str
    strikes: tuple[Strike, ...]
    load: Load = Load()
    second: tuple[str, ...] = ()
    """Kinds of worker of which a second one, with dynamic membership, is there from the start."""
    expected: Expected = Expected()
    checks: tuple[Check, ...] = ()
    recovery: Recovery = Recovery.RESTART
    ground: Ground = Ground()
    deadline_seconds: float = 300.0
    ruins: bool = False
    """Whether nothing can go on afterwards: it is well when the strikes found what they must."""

    def random(self, seed: int) -> Random:
        """Where this scenario's moments lie within their bounds."""
        return Random(f"{seed}/{self.name}")
