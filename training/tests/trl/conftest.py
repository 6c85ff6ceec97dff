"""TRL, transformers and numpy as far as the adapters touch them, so that these tests need none of them."""

import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any, Self

import pytest

from odradek_training import Group


@dataclass
class TrlSample:
    """The fields of TRL 1.16's `RolloutSample`."""

    prompt: Any
    completion: Any
    input_ids: Any
    completion_mask: Any
    old_log_probs: Any
    advantage: float
    model_version: int
    group_id: int
    metrics: dict[str, float]
    enqueued_at: float | None = None


@pytest.fixture
def libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the places from which the adapters import."""
    numpy = ModuleType("numpy")
    numpy.__dict__.update(asarray=lambda values, kind: list(values), int64="int64", float32="float32")
    transformers = ModuleType("transformers")
    transformers.__dict__.update(TrainerCallback=type("TrainerCallback", (), {}))
    worker = ModuleType("trl.experimental.async_grpo.async_rollout_worker")
    worker.__dict__.update(RolloutSample=TrlSample)
    parents = {name: ModuleType(name) for name in ("trl", "trl.experimental", "trl.experimental.async_grpo")}
    for name, module in {
        **parents,
        worker.__name__: worker,
        "numpy": numpy,
        "transformers": transformers,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)


@dataclass
class FakeStream:
    """Groups from memory: asynchronous and ordinary. Its position is how many were given out; after the last it ends, or
    raises `then`."""

    groups: Sequence[Group]
    then: Exception | None = None
    wanted: list[int] = field(default_factory=list)
    given: int = 0
    closed: bool = False

    def position(self) -> dict[str, Any]:
        return {"given": self.given}

    def want(self, groups: int) -> None:
        self.wanted.append(groups)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Group:
        if self.given < len(self.groups):
            self.given += 1
            return self.groups[self.given - 1]
        raise self.then or StopIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *told: Any) -> None:
        self.closed = True

    def __aiter__(self) -> AsyncIterator[Group]:
        return self

    async def __anext__(self) -> Group:
        if self.given < len(self.groups):
            return next(self)
        raise self.then or StopAsyncIteration


@pytest.fixture
def stream_of() -> Any:
    return FakeStream


def trainer_state() -> Any:
    """As transformers keeps it."""
    return SimpleNamespace(global_step=0, stateful_callbacks={"TrainerControl": {}})


@pytest.fixture
def state() -> Any:
    return trainer_state()


@pytest.fixture
def group_of(makes: Any) -> Any:
    """A group of task number `task`: for each rollout its reward and its samples."""

    def made(task: int, *rollouts: tuple[float | None, list[Any]]) -> Group:
        rewards = [
            makes.reward(task, number, reward, samples=samples)
            for number, (reward, samples) in enumerate(rollouts)
        ]
        return Group("r", f"r/{task}", len(rollouts), tuple(rewards))

    return made
