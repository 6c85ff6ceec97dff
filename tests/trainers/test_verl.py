"""verl's own types and functions take what its adapter gives."""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from odradek_training.adapters import verl as adapter
from odradek_training.adapters.rows import rows

pytestmark = pytest.mark.trainers

PROMPT, RESPONSE = 4, 6
LOOPS = """
- name: odradek
  _target_: odradek_training.adapters.verl.StreamAgentLoop
  stream:
    run: r
    ahead: 2
"""


class Tokenizer:
    """As far as verl's worker pads with it."""

    pad_token_id = 0
    padding_side = "right"

    def pad(self, told: Any, *, max_length: int, return_attention_mask: bool, **more: Any) -> Any:
        import torch

        ids, lack = told["input_ids"], max_length - len(told["input_ids"])
        sides = (lack, 0) if self.padding_side == "left" else (0, lack)
        padded = {"input_ids": [0] * sides[0] + ids + [0] * sides[1]}
        if return_attention_mask:
            padded["attention_mask"] = [0] * sides[0] + [1] * len(ids) + [0] * sides[1]
        return {name: torch.tensor([values]) for name, values in padded.items()}


@pytest.fixture
def worker() -> Any:
    """verl's own agent loop worker, without the servers that it would begin with."""
    from verl.experimental.agent_loop import AgentLoopWorker

    made = object.__new__(AgentLoopWorker)
    made.rollout_config = SimpleNamespace(prompt_length=PROMPT, response_length=RESPONSE)
    made.tokenizer, made.processor = Tokenizer(), None
    made.mm_processor_kwargs = {}
    made.reward_loop_worker_handles = None
    made.distillation_enabled = False
    return made


@pytest.fixture
def loop(tmp_path: Path, stream_of: Any, groups: list[Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The agent loop, as verl makes it of its configuration."""
    import hydra
    from omegaconf import OmegaConf
    from verl.experimental.agent_loop.agent_loop import DictConfigWrap

    told: list[Any] = []

    def dealer(size: int, stream: str) -> adapter.Dealer:
        told.append((size, json.loads(stream)))
        return adapter.Dealer(stream_of(groups[:1]), size)

    monkeypatch.setattr(adapter, "_dealer", dealer)
    path = tmp_path / "loops.yaml"
    path.write_text(LOOPS)
    (config,) = OmegaConf.load(path)
    rollout = {"n": 3, "agent": {"num_workers": 1}}
    trainer = OmegaConf.create({"actor_rollout_ref": {"rollout": rollout}, "data": {}})
    made = hydra.utils.instantiate(
        config=config,
        trainer_config=DictConfigWrap(config=trainer),
        server_manager=None,
        tokenizer=None,
        processor=None,
        hf_model_type=None,
        dataset_cls=None,
        data_config=DictConfigWrap(trainer.data),
        tools=None,
    )
    assert told == [(3, {"run": "r", "ahead": 2})]
    return made


def test_an_agent_loop_gives_verls_outputs(loop: Any, groups: list[Any]) -> None:
    from verl.experimental.agent_loop import AgentLoopOutput

    async def played() -> list[Any]:
        return [await loop.run({"temperature": 1.0}, uid="u", raw_prompt=[], index=0) for _ in range(3)]

    first, second, several = asyncio.run(played())
    assert isinstance(first, AgentLoopOutput)
    assert isinstance(second, AgentLoopOutput)
    assert [type(one) for one in several] == [AgentLoopOutput] * 2
    told = first.as_dict()
    assert told["rollout_log_probs"].tolist() == [-0.375, 0.0, -0.625, -0.75]
    assert told["rm_scores"].tolist() == [0.0, 0.0, 0.0, 1.0]


def test_a_batch_is_what_verls_worker_makes_of_the_outputs(worker: Any, groups: list[Any]) -> None:
    found = rows(groups[0])

    async def padded() -> list[Any]:
        outputs = [adapter.agent_loop_output(row) for row in found]
        return [await worker._agent_loop_postprocess(one, False, raw_prompt=[]) for one in outputs]

    theirs = worker._postprocess(asyncio.run(padded()))
    ours = adapter.data_proto(found, PROMPT, RESPONSE)
    assert set(ours.batch.keys()) == set(theirs.batch.keys())
    for name in ours.batch.keys():  # noqa: SIM118 (a TensorDict iterates over its rows)
        assert ours.batch[name].tolist() == theirs.batch[name].tolist(), name
    assert ours.non_tensor_batch["min_global_steps"].tolist() == [3, 4, 3]
    assert theirs.non_tensor_batch["min_global_steps"].tolist() == [3, 4, 3]


def test_advantages_of_verl_are_the_groups_and_masked_rollouts_are_not_there(groups: list[Any]) -> None:
    from verl import DataProto
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

    found = [rows(group) for group in groups]
    batch = DataProto.concat([adapter.data_proto(one, PROMPT, RESPONSE) for one in found])
    batch.check_consistency()
    assert batch.non_tensor_batch["uid"].tolist() == ["r:r/0"] * 3 + ["r:r/1"] * 2
    advantages, _ = compute_grpo_outcome_advantage(
        batch.batch["rm_scores"].clone(), batch.batch["response_mask"], batch.non_tensor_batch["uid"]
    )
    expected = [row.advantage for one in found for row in one]
    for of_row, mask, one in zip(advantages, batch.batch["response_mask"], expected, strict=True):
        assert of_row.tolist() == pytest.approx([one * chosen for chosen in mask.tolist()], abs=1e-3)


def test_a_batch_joins_a_batch_of_verls_own(groups: list[Any]) -> None:
    import numpy
    import torch
    from verl import DataProto

    source = numpy.array(["x"] * 3, dtype=object)
    own = DataProto.from_dict({"dummy_tensor": torch.zeros(3, 1)}, non_tensors={"data_source": source})
    joined = own.union(adapter.data_proto(rows(groups[0]), PROMPT, RESPONSE))
    assert len(joined) == 3
    assert set(joined.non_tensor_batch) >= {"data_source", "uid", "rollout_id"}
