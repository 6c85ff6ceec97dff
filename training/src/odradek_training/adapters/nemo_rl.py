"""NeMo RL: groups as its rollouts leave them, and into its replay buffer.

Written against its documented types (`DatumSpec`, message logs, `ReplayBuffer`): the package on the registry is empty.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from odradek_training.adapters.rows import Row, stretches


class Message(TypedDict, total=False):
    """A message of NeMo RL's log; `token_ids` and `generation_logprobs` are tensors there, [tokens].

    NeMo RL trains on the messages that have `generation_logprobs`.
    """

    role: str
    content: str
    token_ids: Any
    generation_logprobs: Any


def message_log(row: Row) -> list[Message]:
    """A sequence as messages: the model's are the assistant's, whatever was said by others is the user's. Their texts are
    not in a reward, and NeMo RL doesn't train on them."""
    found: list[Message] = []
    for chosen, where in stretches(row):
        ids = row.sample.token_ids[where]
        if chosen:
            logprobs = row.sample.logprobs[where]
            found.append(
                {"role": "assistant", "content": "", "token_ids": ids, "generation_logprobs": logprobs}
            )
        else:
            found.append({"role": "user", "content": "", "token_ids": ids})
    return found


def columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """What NeMo RL's rollouts leave in a batch, as lists, [rows].

    `loss_multiplier` is 1.0 in all, since what does not count is no row. `idx` numbers them; NeMo RL compares those with
    each other that have the same prompt.
    """
    return {
        "message_log": [message_log(row) for row in rows],
        "length": [len(row.sample.token_ids) for row in rows],
        "loss_multiplier": [1.0] * len(rows),
        "total_reward": [row.score for row in rows],
        "truncated": [row.reward.truncated_by is not None for row in rows],
        "idx": list(range(len(rows))),
        "task_name": [row.reward.environment for row in rows],
        "extra_env_info": [{"rollout_id": row.reward.rollout_id} for row in rows],
    }


def batch(rows: Sequence[Row]) -> Any:
    """NeMo RL's `BatchedDataDict[DatumSpec]`."""
    import torch
    from nemo_rl.distributed.batched_data_dict import BatchedDataDict

    found = columns(rows)
    kinds = {
        "length": torch.int64,
        "loss_multiplier": torch.float32,
        "total_reward": torch.float32,
        "truncated": torch.bool,
    }
    tensors: dict[str, Any] = {name: torch.tensor(found[name], dtype=kind) for name, kind in kinds.items()}
    logs = [[_tensors(message, torch) for message in log] for log in found["message_log"]]
    return BatchedDataDict({**found, **tensors, "message_log": logs})


def _tensors(message: Message, torch: Any) -> dict[str, Any]:
    kinds = {"token_ids": torch.int64, "generation_logprobs": torch.float32}
    return {
        name: torch.tensor(value, dtype=kinds[name]) if name in kinds else value
        for name, value in message.items()
    }


def trajectory(rows: Sequence[Row], target: int) -> Mapping[str, Any]:
    """What `ReplayBuffer.add` is called with, by its parameters' names, for one group that is trained on at step `target`.

    Raises:
        ValueError: there are no rows.
        PolicyUnordered: a policy's version counts nothing.
    """
    if not rows:
        raise ValueError("a group without rows: pass over those that `rows` finds nothing in")
    return {
        "trajectory": {"batch": batch(rows), "rollout_metrics": _metrics(rows), "timestamp": time.time()},
        "weight_version": min(row.policies[0] for row in rows),
        "target_weight_version": target,
    }


def _metrics(rows: Sequence[Row]) -> dict[str, float]:
    turns = [row.reward.turns for row in rows]
    return {"avg_turns_per_sample": sum(turns) / len(turns), "max_turns_per_sample": float(max(turns))}
