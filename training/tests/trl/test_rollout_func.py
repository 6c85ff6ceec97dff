from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from odradek_schemas.rollouts import TrainingSample
from odradek_training import PolicyUnordered
from odradek_training.trl import RolloutFunc, position_in, stream_reward, with_behaviour_logprobs
from odradek_training.trl.rollout_func import StreamEnded

pytestmark = pytest.mark.usefixtures("libraries")


def trainer(step: int = 0, size: int = 2, main: bool = True) -> Any:
    accelerator = SimpleNamespace(is_main_process=main, wait_for_everyone=lambda: None)
    return SimpleNamespace(
        num_generations=size, state=SimpleNamespace(global_step=step), accelerator=accelerator
    )


def sample(ids: list[int], mask: list[int], versions: list[str | None]) -> TrainingSample:
    logprobs = [-0.5 * chosen for chosen in mask]
    return TrainingSample(token_ids=ids, loss_mask=mask, logprobs=logprobs, policy_versions=versions)


def test_a_batch_is_made_of_groups_as_they_were_sampled(stream_of: Any, group_of: Any) -> None:
    turns = sample([1, 2, 3, 4, 5], [0, 0, 1, 0, 1], ["step-6", "step-7"])
    groups = [
        group_of(0, (1.0, [turns]), (0.0, [sample([1, 2, 9], [0, 0, 1], ["7"])])),
        group_of(1, (0.5, [sample([8, 6], [0, 1], [None])]), (0.25, [sample([8, 7], [0, 1], ["8"])])),
    ]
    stream = stream_of(groups)
    batch = RolloutFunc(stream)(["-"] * 4, trainer(step=8))
    assert batch == {
        "prompt_ids": [[1, 2], [1, 2], [8], [8]],
        "completion_ids": [[3, 4, 5], [9], [6], [7]],
        "env_mask": [[1, 0, 1], [1], [1], [1]],
        "logprobs": [[-0.5, 0.0, -0.5], [-0.5], [-0.5], [-0.5]],
        "odradek_reward": [1.0, 0.0, 0.5, 0.25],
        "odradek_staleness": [2.0, 1.0, 8.0, 0.0],
    }
    assert stream.wanted == [2]


def test_weights_are_published_before_rollouts_are_asked_for(
    stream_of: Any, group_of: Any, makes: Any
) -> None:
    stream = stream_of([group_of(0, (1.0, [makes.tokens(1, 2)]), (0.0, [makes.tokens(1, 3)]))])
    published: list[Any] = []

    def publish(of: Any, version: str) -> None:
        published.append((version, list(stream.wanted)))

    RolloutFunc(stream, publish)(["-", "-"], trainer(step=3))
    assert published == [("3", [])]


def test_only_one_process_publishes(stream_of: Any, group_of: Any, makes: Any) -> None:
    stream = stream_of([group_of(0, (1.0, [makes.tokens(1, 2)]), (0.0, [makes.tokens(1, 3)]))])
    RolloutFunc(stream, lambda *told: pytest.fail("published"))(["-", "-"], trainer(main=False))


def test_of_several_sequences_the_one_in_which_most_was_chosen_is_taken(
    stream_of: Any, group_of: Any, makes: Any
) -> None:
    longer = makes.tokens(1, 2, 3)
    stream = stream_of([group_of(0, (1.0, [makes.tokens(1, 9), longer]), (0.0, [makes.tokens(1, 4)]))])
    assert RolloutFunc(stream)(["-", "-"], trainer())["completion_ids"] == [[2, 3], [4]]


@pytest.mark.parametrize("second", [(0.0, []), None], ids=["no tokens", "a partial group"])
def test_what_lacks_counts_for_nothing(stream_of: Any, group_of: Any, makes: Any, second: Any) -> None:
    rollouts = [(1.0, [makes.tokens(1, 2, 3)]), *([second] if second else [])]
    group = replace(group_of(0, *rollouts), size=2)
    batch = RolloutFunc(stream_of([group]))(["-", "-"], trainer())
    assert batch["env_mask"] == [[1, 1], [0, 0]]
    assert batch["odradek_reward"] == [1.0, None]
    assert {len(column) for column in batch.values()} == {2}


def test_a_group_without_any_tokens_is_passed_over(stream_of: Any, group_of: Any, makes: Any) -> None:
    groups = [
        group_of(0, (1.0, []), (0.0, [])),
        group_of(1, (1.0, [makes.tokens(1, 2)]), (0.0, [makes.tokens(1, 3)])),
    ]
    assert RolloutFunc(stream_of(groups))(["-", "-"], trainer())["completion_ids"] == [[2], [3]]


def test_a_batch_of_broken_groups_is_refused(stream_of: Any) -> None:
    with pytest.raises(ValueError, match="3 holds no whole groups of num_generations=2"):
        RolloutFunc(stream_of([]))(["-"] * 3, trainer())


def test_groups_of_another_size_are_refused(stream_of: Any, group_of: Any, makes: Any) -> None:
    larger = group_of(0, *[(1.0, [makes.tokens(1, 2)])] * 3)
    with pytest.raises(
        ValueError, match="plays 3 rollouts of each task, the trainer compares num_generations=2"
    ):
        RolloutFunc(stream_of([larger]))(["-", "-"], trainer())


def test_a_stream_that_ends_is_told(stream_of: Any) -> None:
    with pytest.raises(StreamEnded, match="its runs are over"):
        RolloutFunc(stream_of([]))(["-", "-"], trainer())


def test_a_version_that_counts_nothing_is_refused(stream_of: Any, group_of: Any, makes: Any) -> None:
    odd = makes.tokens(1, 2, policy="newest")
    with pytest.raises(PolicyUnordered, match="'newest'"):
        RolloutFunc(stream_of([group_of(0, (1.0, [odd]), (0.0, [odd]))]))(["-", "-"], trainer())


def test_the_reward_is_passed_on_and_ages_are_logged() -> None:
    logged: dict[str, float] = {}
    ages = [0.0, 4.0]
    told = stream_reward(
        odradek_reward=[1.0, None], odradek_staleness=ages, log_metric=logged.__setitem__, prompts=[]
    )
    assert told == [1.0, None]
    assert logged == {"odradek/staleness_mean": 2.0, "odradek/staleness_max": 4.0}


def test_ratios_are_taken_against_what_rollouts_came_with() -> None:
    class Trainer:
        def _generate_and_score_completions(self, inputs: list[Any]) -> dict[str, Any]:
            return {"sampling_per_token_logps": inputs, "completion_ids": [1]}

    batch = with_behaviour_logprobs(Trainer)()._generate_and_score_completions([-0.5])
    assert batch == {"sampling_per_token_logps": [-0.5], "completion_ids": [1], "old_per_token_logps": [-0.5]}


def test_checkpoints_hold_where_the_stream_stood(
    stream_of: Any, group_of: Any, makes: Any, state: Any, tmp_path: Any
) -> None:
    import json

    groups = [group_of(task, (1.0, [makes.tokens(1, 2)]), (0.0, [makes.tokens(1, 3)])) for task in range(2)]
    rollouts, steps = RolloutFunc(stream_of(groups)), []
    callback = rollouts.callback(lambda step, tasks: steps.append((step, list(tasks))))
    for step in (1, 2):
        rollouts(["-", "-"], trainer())
        state.global_step = step
        callback.on_step_end(None, state, None)
        if step == 1:
            (tmp_path / "trainer_state.json").write_text(json.dumps(vars(state)))
    assert position_in(tmp_path) == {"given": 1}
    assert steps == [(1, ["r/0"]), (2, ["r/1"])]


@pytest.mark.parametrize(
    ("per_generation", "iterations", "fits"), [(1, 1, True), (2, 1, True), (4, 1, False), (1, 4, False)]
)
def test_a_position_between_steps_on_the_same_rollouts_is_refused(
    stream_of: Any, state: Any, per_generation: int, iterations: int, fits: bool
) -> None:
    args = SimpleNamespace(
        steps_per_generation=per_generation, num_iterations=iterations, gradient_accumulation_steps=2
    )
    callback = RolloutFunc(stream_of([])).callback()
    if fits:
        callback.on_train_begin(args, state, None)
    else:
        with pytest.raises(ValueError, match="no position would be right"):
            callback.on_train_begin(args, state, None)
