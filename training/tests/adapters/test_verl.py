"""verl: the documented fields, agent loops, and batches."""

import asyncio
from collections import UserDict
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

import odradek_training
from odradek_training.adapters import verl
from odradek_training.adapters.rows import rows


class Output(SimpleNamespace):
    """verl's `AgentLoopOutput`, as far as it is looked at."""


@pytest.fixture
def output(modules: Any) -> None:
    modules.put("verl.experimental.agent_loop", AgentLoopOutput=Output)


def config(n: int = 2, workers: int = 1) -> Any:
    rollout = SimpleNamespace(n=n, agent=SimpleNamespace(num_workers=workers))
    return SimpleNamespace(config=SimpleNamespace(actor_rollout_ref=SimpleNamespace(rollout=rollout)))


def loop_on(stream: Any, monkeypatch: pytest.MonkeyPatch) -> verl.StreamAgentLoop:
    dealer = verl.Dealer(stream, 2)
    monkeypatch.setattr(verl, "_dealer", lambda size, told: dealer)
    return verl.StreamAgentLoop(trainer_config=config(), stream={"run": "r"}, tokenizer=None)


def test_an_agent_loops_output_is_cut_where_the_model_began(group_of: Any, turns: Any) -> None:
    (row,) = rows(group_of(0, (0.5, [turns])))
    assert verl.agent_loop_fields(row) == {
        "prompt_ids": [1, 2],
        "response_ids": [3, 4, 5, 6],
        "response_mask": [1, 0, 1, 1],
        "response_logprobs": [-0.25, 0.0, -0.5, -0.75],
        "reward_score": 0.5,
        "num_turns": 2,
        "metrics": {},
        "extra_fields": {
            "min_global_steps": 6,
            "max_global_steps": 7,
            "reward_extra_info": {},
            "rollout_id": "r/0/0",
        },
    }


@pytest.mark.usefixtures("output")
def test_the_loops_of_a_prompt_share_a_group(
    stream_of: Any, group_of: Any, makes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = [group_of(task, *((1.0, [makes.tokens(1, 10 * task + n)]) for n in (2, 3))) for task in range(2)]
    loop = loop_on(stream_of(groups), monkeypatch)

    async def played() -> list[Any]:
        asked = ["x", "y", "y", "x"]
        return list(await asyncio.gather(*(loop.run({}, uid=uid, raw_prompt=[]) for uid in asked)))

    assert [one.response_ids for one in asyncio.run(played())] == [[2], [12], [13], [3]]


@pytest.mark.usefixtures("output")
def test_a_rollout_with_several_sequences_is_several_outputs(
    stream_of: Any, group_of: Any, makes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    several, one = [makes.tokens(1, 2), makes.tokens(1, 3)], [makes.tokens(1, 4)]
    loop = loop_on(stream_of([group_of(0, (1.0, several), (0.0, one))]), monkeypatch)

    async def played() -> list[Any]:
        return [await loop.run({}, uid="x") for _ in range(2)]

    first, second = asyncio.run(played())
    assert [found.response_ids for found in first] == [[2], [3]]
    assert second.response_ids == [4]


@pytest.mark.usefixtures("output")
def test_loops_of_a_process_share_one_stream(
    stream_of: Any, group_of: Any, makes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []
    groups = [group_of(0, *((1.0, [makes.tokens(1, n)]) for n in (2, 3)))]

    def sync(**options: Any) -> Any:
        opened.append(options)
        return nullcontext(stream_of(groups))

    monkeypatch.setattr(odradek_training.RewardStream, "sync", sync)
    told = {"runs": ["a", "b"], "ahead": 2}
    loops = [verl.StreamAgentLoop(trainer_config=config(), stream=UserDict(told)) for _ in range(2)]

    async def played() -> list[Any]:
        return [await loop.run({}, uid="x") for loop in loops]

    assert [one.response_ids for one in asyncio.run(played())] == [[2], [3]]
    assert opened == [{"group_size": 2, "runs": ["a", "b"], "ahead": 2}]


def test_several_workers_are_refused() -> None:
    with pytest.raises(ValueError, match=r"num_workers is 8.*set it to 1"):
        verl.StreamAgentLoop(trainer_config=config(workers=8), stream={"run": "r"})


def test_a_batch_is_padded_on_both_sides(group_of: Any, makes: Any, turns: Any) -> None:
    found = verl.columns(rows(group_of(0, (0.5, [turns]), (2.0, [makes.tokens(7, 8)]))), 3, 5, pad=9)
    assert found == {
        "prompts": [[9, 1, 2], [9, 9, 7]],
        "responses": [[3, 4, 5, 6, 9], [8, 9, 9, 9, 9]],
        "response_mask": [[1, 0, 1, 1, 0], [1, 0, 0, 0, 0]],
        "input_ids": [[9, 1, 2, 3, 4, 5, 6, 9], [9, 9, 7, 8, 9, 9, 9, 9]],
        "attention_mask": [[0, 1, 1, 1, 1, 1, 1, 0], [0, 0, 1, 1, 0, 0, 0, 0]],
        "position_ids": [[0, 0, 1, 2, 3, 4, 5, 5], [0, 0, 0, 1, 1, 1, 1, 1]],
        "rollout_log_probs": [[-0.25, 0.0, -0.5, -0.75, 0.0], [-0.5, 0.0, 0.0, 0.0, 0.0]],
        "rm_scores": [[0.0, 0.0, 0.0, 0.5, 0.0], [2.0, 0.0, 0.0, 0.0, 0.0]],
    }


def test_a_long_response_is_cut_and_a_long_prompt_refused(group_of: Any, turns: Any) -> None:
    found = rows(group_of(0, (0.5, [turns])))
    cut = verl.columns(found, 2, 3)
    assert (cut["responses"], cut["rm_scores"]) == ([[3, 4, 5]], [[0.0, 0.0, 0.5]])
    with pytest.raises(
        ValueError, match=r"rollout r/0/0 has 2 tokens: raise data.max_prompt_length, which is 1"
    ):
        verl.columns(found, 1, 3)
