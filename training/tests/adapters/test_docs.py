"""The page's examples are run, with the trainers' libraries as fakes. The real ones: `make test-trainers`."""

import asyncio
import importlib
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import yaml

import odradek_training

PAGE = Path(__file__).parents[3] / "docs/trainers.md"


class Opened:
    """`RewardStream.sync` of nothing."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *told: Any) -> None:
        """There is nothing to close."""

    def position(self) -> dict[str, Any]:
        return {}


class Trainer:
    """TRL's, which trains on nothing."""

    made: ClassVar[dict[str, Any]] = {}

    def __init__(self, **told: Any) -> None:
        Trainer.made = told

    def train(self) -> None:
        """At once."""


@pytest.fixture
def page(modules: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the page's Python defines."""
    modules.put("unsloth")
    modules.put("trl", GRPOTrainer=Trainer)
    modules.put("transformers", TrainerCallback=object)
    modules.put("skyrl.train.entrypoints.main_base", BasePPOExp=object)
    kinds = {name: name for name in ("int64", "float32", "bool")}
    modules.put("torch", tensor=lambda values, dtype: values, **kinds)
    modules.put("nemo_rl.distributed.batched_data_dict", BatchedDataDict=dict)
    monkeypatch.setattr(odradek_training.RewardStream, "sync", Opened)
    defined: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(block, defined)
    return defined


@pytest.fixture
def group(group_of: Any, turns: Any) -> Any:
    return group_of(0, (1.0, [turns]), (None, []), (0.0, [turns]))


def test_verls_loop_is_where_its_configuration_says() -> None:
    ((entry,),) = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL))
    module, _, name = entry["_target_"].rpartition(".")
    assert callable(getattr(importlib.import_module(module), name).run)


def test_a_batch_for_verl(page: Any, group: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page["data_proto"] = lambda found, **lengths: (len(found), lengths)
    assert page["batch_of"]([group, group]) == (4, {"prompt_length": 512, "response_length": 2048})


def test_a_generator_for_skyrl(page: Any) -> None:
    told = SimpleNamespace(generator=SimpleNamespace(n_samples_per_prompt=4, step_wise_trajectories=False))
    experiment = page["Experiment"]()
    assert callable(experiment.get_generator(told, None, None).generate)
    assert experiment.stream.options == {"run": "my-run", "group_size": 4, "ahead": 1}


def test_episodes_for_prime_rl(page: Any, modules: Any, group: Any) -> None:
    wire = SimpleNamespace(model_validate=lambda record: record["id"])
    modules.put("verifiers.v1.episode", WireEpisode=wire)

    async def stream() -> Any:
        yield group

    async def ids() -> list[str]:
        return [found async for found in page["episodes_of"](stream())]

    assert asyncio.run(ids()) == ["r/0/0", "r/0/2"]


def test_a_replay_buffer_for_nemo_rl(page: Any, stream_of: Any, group: Any) -> None:
    added: list[Any] = []

    def add(**told: Any) -> str:
        added.append(told["weight_version"])
        return "success" if len(added) < 2 else "full"

    assert page["fill"](stream_of([group] * 3), add, 7) is group
    assert added == [6, 6]


def test_a_trainer_for_unsloth(page: Any) -> None:
    page["train"]("m", SimpleNamespace(num_generations=4), [], None)
    assert callable(Trainer.made["rollout_func"])
    assert len(Trainer.made["callbacks"]) == 1
