"""verl (0.9): rollouts as an agent loop's output, or as a `DataProto` for a loop of one's own.

`StreamAgentLoop` is verl's own extension point: an agent loop that samples nothing, and gives out what the stream has.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypedDict

from odradek_training.adapters.rows import Row
from odradek_training.adapters.taking import SyncStream, take


class AgentLoopFields(TypedDict):
    """What verl's `AgentLoopOutput` is made of; `response_mask` is 1 where the model chose the token."""

    prompt_ids: list[int]
    response_ids: list[int]
    response_mask: list[int]
    response_logprobs: list[float]
    reward_score: float
    num_turns: int
    metrics: dict[str, float]
    extra_fields: dict[str, Any]


def agent_loop_fields(row: Row) -> AgentLoopFields:
    """A rollout as an agent loop returns it. verl counts what is said, so a turn of ours is two of its."""
    oldest, newest = row.policies
    return {
        "prompt_ids": row.prompt,
        "response_ids": row.response,
        "response_mask": row.mask,
        "response_logprobs": row.logprobs,
        "reward_score": row.score,
        "num_turns": 2 * row.reward.turns,
        "metrics": {},
        "extra_fields": {
            "min_global_steps": oldest,
            "max_global_steps": newest,
            "reward_extra_info": {},
            "rollout_id": row.reward.rollout_id,
        },
    }


def agent_loop_output(row: Row) -> Any:
    """verl's `AgentLoopOutput`."""
    from verl.experimental.agent_loop import AgentLoopOutput

    return AgentLoopOutput(**agent_loop_fields(row))


class StreamAgentLoop:
    """An agent loop that takes each prompt's rollouts from a stream; named in verl's `agent_loop_config_path`.

    The prompts of verl's data set only count: each stands for one group of the stream, its `rollout.n` loops for the
    group's rollouts. All loops of a process share a stream, so there may be one worker.
    """

    def __init__(self, trainer_config: Any, stream: Mapping[str, Any], **of_verl: Any) -> None:
        """`stream`: what `RewardStream` is given, apart from the group's size, which is `rollout.n`.

        Raises:
            ValueError: there are several workers.
        """
        rollout = trainer_config.config.actor_rollout_ref.rollout
        if rollout.agent.num_workers != 1:
            raise ValueError(
                f"actor_rollout_ref.rollout.agent.num_workers is {rollout.agent.num_workers}: workers would each deal "
                "groups of their own; set it to 1, since a worker only reads"
            )
        self._dealer = _dealer(int(rollout.n), json.dumps(stream, default=_plain, sort_keys=True))

    async def run(self, sampling_params: Mapping[str, Any], *, uid: str, **of_prompt: Any) -> Any:
        """The next rollout of the group that prompt `uid` stands for: one output, or several if it has several
        sequences, which verl's trainer of today takes and the one before it does not.

        Raises:
            GroupsEnded, StreamError
        """
        outputs = [agent_loop_output(row) for row in await self._dealer.deal(uid)]
        return outputs if len(outputs) > 1 else outputs[0]


class Dealer:
    """Deals each prompt's loops the rollouts of one group, whichever of them asks first."""

    def __init__(self, stream: SyncStream, size: int) -> None:
        self._stream = stream
        self._size = size
        self._turn = asyncio.Lock()
        self._hands: dict[str, list[list[Row]]] = {}

    async def deal(self, uid: str) -> list[Row]:
        """All rows of a rollout that none was dealt yet.

        Raises:
            GroupsEnded, StreamError
        """
        async with self._turn:
            if uid not in self._hands:
                (self._hands[uid],) = await asyncio.to_thread(take, self._stream, 1, self._size)
            hand = self._hands[uid]
            rollout = hand.pop(0)
            if not hand:
                del self._hands[uid]
            return rollout


@cache
def _dealer(size: int, stream: str) -> Dealer:
    """One for a process and a stream (its options as JSON), which stays open as long as the process."""
    from odradek_training.stream import RewardStream

    return Dealer(RewardStream.sync(group_size=size, **json.loads(stream)).__enter__(), size)


def _plain(value: Any) -> Any:
    """Of hydra's own mappings and lists."""
    return dict(value) if isinstance(value, Mapping) else list(value)


class Columns(TypedDict):
    """The tensors of verl's batches, as lists: [rows][tokens], prompts padded on the left, responses on the right.

    `rm_scores` has a row's score at its response's last token.
    """

    prompts: list[list[int]]
    responses: list[list[int]]
    response_mask: list[list[int]]
    input_ids: list[list[int]]
    attention_mask: list[list[int]]
    position_ids: list[list[int]]
    rollout_log_probs: list[list[float]]
    rm_scores: list[list[float]]


def columns(rows: Sequence[Row], prompt_length: int, response_length: int, pad: int = 0) -> Columns:
    """Rows in the form in which verl's rollout workers return them. A longer response is cut, as verl's loops do.

    Raises:
        ValueError: a prompt is longer than `prompt_length`.
    """
    found: Columns = {
        "prompts": [],
        "responses": [],
        "response_mask": [],
        "input_ids": [],
        "attention_mask": [],
        "position_ids": [],
        "rollout_log_probs": [],
        "rm_scores": [],
    }
    for row in rows:
        before = prompt_length - len(row.prompt)
        if before < 0:
            raise ValueError(
                f"the prompt of rollout {row.reward.rollout_id} has {len(row.prompt)} tokens: raise "
                f"data.max_prompt_length, which is {prompt_length}"
            )
        response = row.response[:response_length]
        after = response_length - len(response)
        attention = [0] * before + [1] * (len(row.prompt) + len(response)) + [0] * after
        found["prompts"].append([pad] * before + row.prompt)
        found["responses"].append(response + [pad] * after)
        found["response_mask"].append(row.mask[:response_length] + [0] * after)
        found["input_ids"].append(found["prompts"][-1] + found["responses"][-1])
        found["attention_mask"].append(attention)
        found["position_ids"].append(_positions(before, len(row.prompt) + len(response), after))
        found["rollout_log_probs"].append(row.logprobs[:response_length] + [0.0] * after)
        found["rm_scores"].append([0.0] * (len(response) - 1) + [row.score] + [0.0] * after)
    return found


def data_proto(rows: Sequence[Row], prompt_length: int, response_length: int, pad: int = 0) -> Any:
    """verl's `DataProto` of some rows; `uid` says which are compared with each other.

    Raises:
        ValueError: a prompt is too long.
        PolicyUnordered: a policy's version counts nothing.
    """
    import numpy
    import torch
    from verl import DataProto

    floats = ("rollout_log_probs", "rm_scores")
    tensors = {
        name: torch.tensor(column, dtype=torch.float32 if name in floats else torch.int64)
        for name, column in columns(rows, prompt_length, response_length, pad).items()
    }
    told = {
        "uid": [row.group for row in rows],
        "rollout_id": [row.reward.rollout_id for row in rows],
        "min_global_steps": [row.policies[0] for row in rows],
        "max_global_steps": [row.policies[1] for row in rows],
    }
    arrays = {name: numpy.array(values, dtype=object) for name, values in told.items()}
    return DataProto.from_dict(tensors=tensors, non_tensors=arrays)


def _positions(before: int, known: int, after: int) -> list[int]:
    """As verl counts them: padding has the position of what is next to it."""
    return [0] * before + list(range(known)) + [known - 1] * after
