"""prime-rl, which trains on what `verifiers` (0.4) calls episodes: rollouts as such, token for token.

A reward has the tokens of its rollout, and not their texts: messages are empty. Advantages are the group's.
"""

from collections.abc import Sequence
from typing import Any

from odradek_training.adapters.rows import Row, rollouts, stretches
from odradek_training.group import Group

AGENT = "odradek"
REWARD = "reward"

Record = dict[str, Any]
"""One of `verifiers`' models as JSON."""


def episodes(group: Group) -> list[Any]:
    """verifiers' `Episode` of each rollout of a group that counts: one trace, with a branch for each sequence.

    Raises:
        PolicyUnordered: a policy's version counts nothing.
    """
    from verifiers.v1.episode import WireEpisode

    return [WireEpisode.model_validate(episode_record(rows)) for rows in rollouts(group)]


def episode_record(rows: Sequence[Row]) -> Record:
    """The episode of a rollout, of all its rows. Its step is the newest policy that the rollout saw.

    Raises:
        PolicyUnordered: a policy's version counts nothing.
    """
    reward = rows[0].reward
    start = min(row.policies[0] for row in rows)
    end = max(row.policies[1] for row in rows)
    work = {"type": "train", "step": end, "policy": {"start": start, "end": end}}
    return {
        "id": reward.rollout_id,
        "env": {"id": reward.environment},
        "task": _task(rows[0]),
        "group": {"id": rows[0].group},
        "run": {"type": "train", "id": reward.run_id, "work": work},
        "ok": True,
        "traces": [trace_record(rows)],
    }


def trace_record(rows: Sequence[Row]) -> Record:
    """The trace of a rollout, of all its rows."""
    reward = rows[0].reward
    nodes: list[Record] = []
    for row in rows:
        nodes += _chain(row, len(nodes))
    return {
        "id": reward.rollout_id,
        "task": _task(rows[0]),
        "agent": {"config": {"model": reward.model}, "name": AGENT},
        "nodes": nodes,
        "rewards": {REWARD: {"score": rows[0].score}},
        "metrics": dict(reward.components),
        "info": {"scoring": reward.scoring},
        "is_completed": True,
        "ok": True,
        "stop_condition": reward.truncated_by,
    }


def _task(row: Row) -> Record:
    task_id = row.reward.group.task_id
    return {"type": row.reward.environment, "data": {"id": task_id}, "key": task_id}


def _chain(row: Row, first: int) -> list[Record]:
    """The nodes of one sequence, from a root of its own: one for each stretch of the model's, or of others'.

    Logprobs and advantages are of a node's sampled tokens.
    """
    return [
        _node(row, chosen, where, first + at - 1 if at else None)
        for at, (chosen, where) in enumerate(stretches(row))
    ]


def _node(row: Row, chosen: bool, where: slice, parent: int | None) -> Record:
    ids = row.sample.token_ids[where]
    return {
        "parent": parent,
        "message": {"role": "assistant" if chosen else "user", "content": ""},
        "sampled": chosen,
        "token_ids": ids,
        "mask": [chosen] * len(ids),
        "logprobs": row.sample.logprobs[where] if chosen else [],
        "advantages": [row.advantage] * len(ids) if chosen else None,
    }
