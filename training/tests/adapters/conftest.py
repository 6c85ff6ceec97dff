"""Groups from memory, and the trainers' libraries as far as the adapters touch them."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Self

import pytest

from odradek_schemas.rollouts import TrainingSample
from odradek_training import Group


@dataclass
class FakeStream:
    """Groups in their order; it notes how many were wanted."""

    groups: Sequence[Group]
    wanted: list[int] = field(default_factory=list)
    given: int = 0

    def want(self, groups: int) -> None:
        self.wanted.append(groups)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Group:
        if self.given == len(self.groups):
            raise StopIteration
        self.given += 1
        return self.groups[self.given - 1]


@pytest.fixture
def stream_of() -> Any:
    return FakeStream


@pytest.fixture
def group_of(makes: Any) -> Any:
    """A group of task number `task`: for each rollout its reward and its samples."""

    def made(task: int, *told: tuple[float | None, list[TrainingSample]]) -> Group:
        rewards = [
            makes.reward(task, number, reward, samples=samples)
            for number, (reward, samples) in enumerate(told)
        ]
        return Group("r", f"r/{task}", len(told), tuple(rewards))

    return made


@pytest.fixture
def turns() -> TrainingSample:
    """Shown 1 and 2, it chose 3; shown 4, it chose 5 and 6."""
    return TrainingSample(
        token_ids=[1, 2, 3, 4, 5, 6],
        loss_mask=[0, 0, 1, 0, 1, 1],
        logprobs=[0.0, 0.0, -0.25, 0.0, -0.5, -0.75],
        call_ids=["a", "b"],
        policy_versions=["step-6", "step-7"],
        finish_reasons=["tool_calls", "length"],
    )


class FakeModules:
    """Puts modules where adapters import them from."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def put(self, name: str, **contents: Any) -> None:
        module = ModuleType(name)
        module.__dict__.update(contents)
        parts = name.split(".")
        for end in range(1, len(parts)):
            parent = ".".join(parts[:end])
            if parent not in sys.modules:
                self._monkeypatch.setitem(sys.modules, parent, ModuleType(parent))
        self._monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> FakeModules:
    return FakeModules(monkeypatch)
