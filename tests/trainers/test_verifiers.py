"""verifiers' own models take episodes, and show of them what prime-rl trains on."""

from typing import Any

import pytest

from odradek_training.adapters.prime_rl import episodes
from odradek_training.adapters.rows import rollouts

pytestmark = pytest.mark.trainers


def test_a_branch_is_a_sequence_token_for_token(groups: list[Any]) -> None:
    for group in groups:
        found = episodes(group)
        assert len(found) == len(rollouts(group)) == sum(not reward.masked for reward in group.rewards)
        for episode, rows in zip(found, rollouts(group), strict=True):
            (trace,) = episode.traces
            assert trace.reward == rows[0].score
            assert not trace.has_error
            for branch, row in zip(trace.branches, rows, strict=True):
                sample = row.sample
                assert branch.trainable
                assert branch.token_ids == sample.token_ids
                assert branch.sampled_mask == [bool(chosen) for chosen in sample.loss_mask]
                assert branch.logprobs == sample.logprobs
                assert branch.advantages == [row.advantage * chosen for chosen in sample.loss_mask]


def test_an_episode_tells_its_group_and_its_policies(groups: list[Any]) -> None:
    several = episodes(groups[0])[2]
    assert several.group.id == "r:r/0"
    assert (several.run.work.policy.start, several.run.work.policy.end) == (3, 4)
    assert several.run.work.policy.drift == 1


def test_an_episode_survives_being_written(groups: list[Any]) -> None:
    from verifiers.v1.episode import WireEpisode

    for episode in episodes(groups[0]):
        again = WireEpisode.model_validate_json(episode.model_dump_json())
        assert [branch.token_ids for branch in again.traces[0].branches] == [
            branch.token_ids for branch in episode.traces[0].branches
        ]


def test_the_platforms_rows_are_made_of_them(groups: list[Any]) -> None:
    from prime_runs.projection import build_samples

    made = build_samples(episodes(groups[0]))
    assert [row["reward"] for row in made] == [1.0, 0.0, 0.25]
    assert [row["error"] for row in made] == [None] * 3
