"""SkyRL (0.4): a generator whose rollouts come out of a stream."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any, TypedDict

from odradek_training.adapters.rows import Row, principal
from odradek_training.adapters.taking import SyncStream, take

STOPS = {"length": "length"}
"""SkyRL's word for why a model stopped, where it is not `stop`."""


class Generated(TypedDict):
    """What SkyRL's `GeneratorOutput` must have: a row for each sequence, [rows] or [rows][tokens].

    `is_last_step` is None where a rollout has one row.
    """

    prompt_token_ids: list[list[int]]
    response_ids: list[list[int]]
    rewards: list[float]
    loss_masks: list[list[int]]
    stop_reasons: list[str]
    rollout_metrics: dict[str, float]
    rollout_logprobs: list[list[float]]
    trajectory_ids: list[Any]
    is_last_step: list[bool] | None


class StreamGenerator:
    """A generator for SkyRL's trainers, which ask nothing of it but `generate`.

    The prompts of SkyRL's data set only count: those of one `instance_id` stand for one group of the stream.
    """

    def __init__(self, stream: SyncStream, *, step_wise: bool = False) -> None:
        """`step_wise`: SkyRL's `generator.step_wise_trajectories`; a rollout then has all its sequences as steps. Without,
        it has the one in which the model chose most."""
        self._stream = stream
        self._step_wise = step_wise

    async def generate(self, input_batch: Mapping[str, Any]) -> Generated:
        """As many rollouts as there are prompts, in their order.

        Raises:
            ValueError: the batch is not made of groups of one size.
            GroupsEnded, StreamError
        """
        ids = input_batch["trajectory_ids"]
        sizes = [len(list(same)) for _, same in groupby(ids or [], key=lambda one: one.instance_id)]
        if len(set(sizes)) != 1:
            raise ValueError(
                f"the batch has groups of {sorted(set(sizes))} trajectories: all must have n_samples_per_prompt, and "
                "those of an instance must be together"
            )
        groups = await asyncio.to_thread(take, self._stream, len(sizes), sizes[0])
        return generated([rollout for group in groups for rollout in group], ids, step_wise=self._step_wise)


def generated(rollouts: Sequence[Sequence[Row]], ids: Sequence[Any], *, step_wise: bool = False) -> Generated:
    """SkyRL's `GeneratorOutput` of some rollouts, each with its rows, and the ids that SkyRL knows them by."""
    kept = [list(rows) if step_wise else [principal(rows)] for rows in rollouts]
    flat = [row for rows in kept for row in rows]
    return {
        "prompt_token_ids": [row.prompt for row in flat],
        "response_ids": [row.response for row in flat],
        "rewards": [row.score for row in flat],
        "loss_masks": [row.mask for row in flat],
        "stop_reasons": [_stop(row) for row in flat],
        "rollout_metrics": {"odradek/turns": fmean(rows[0].reward.turns for rows in kept)},
        "rollout_logprobs": [row.logprobs for row in flat],
        "trajectory_ids": [one for one, rows in zip(ids, kept, strict=True) for _ in rows],
        "is_last_step": [row is rows[-1] for rows in kept for row in rows] if step_wise else None,
    }


def _stop(row: Row) -> str:
    last = row.sample.finish_reasons[-1] if row.sample.finish_reasons else ""
    return STOPS.get(last, "stop")
