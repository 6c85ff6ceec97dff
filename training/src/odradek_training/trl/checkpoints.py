"""The stream's position in the trainer's own checkpoint: in its `trainer_state.json`, beside the step."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from odradek_schemas.base import JsonObject
from odradek_training.trl.trained import Trained

KEY = "OdradekStream"
STATE_FILE = "trainer_state.json"

OnTrained = Callable[[int, Sequence[str]], None]
"""Is told after each step which one it was, and the tasks whose groups were trained on."""


class NoPosition(ValueError):
    """A checkpoint does not tell where the stream stood."""


def last_checkpoint(folder: Path | str) -> Path | None:
    """The newest checkpoint in a trainer's `output_dir` that was written to its end; None: there is none.

    A trainer that is killed while it writes one leaves it without its `trainer_state.json`, or with half of it: that
    file comes last.
    """
    found = [
        path for path in Path(folder).glob("checkpoint-*") if step_of(path) is not None and _is_whole(path)
    ]
    return max(found, key=lambda path: step_of(path) or 0, default=None)


def step_of(checkpoint: Path) -> int | None:
    """The step that a checkpoint is of, by its name; None: it is named otherwise."""
    number = checkpoint.name.rpartition("-")[2]
    return int(number) if number.isdecimal() else None


def _is_whole(checkpoint: Path) -> bool:
    try:
        json.loads((checkpoint / STATE_FILE).read_text())
    except (OSError, ValueError):
        return False
    return True


def position_in(checkpoint: Path | str) -> JsonObject:
    """What to open the stream with when a trainer goes on from `checkpoint`, a folder.

    Raises:
        NoPosition: it holds none, or can't be read.
    """
    path = Path(checkpoint) / STATE_FILE
    try:
        state = json.loads(path.read_text())
        position = state["stateful_callbacks"][KEY]["attributes"]["position"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NoPosition(
            f"{path} holds no position of a stream ({error!r}): was the trainer given callback()?"
        ) from error
    if not isinstance(position, dict):
        raise NoPosition(f"{path} was written before a group was trained on: begin without a position")
    return position


def position_callback(
    position: Callable[[], JsonObject], taken: Callable[[], Sequence[str]], on_trained: OnTrained | None
) -> Any:
    """For `GRPOTrainer`, which takes what it trains on: after each step the stream stands where the checkpoint should."""
    from transformers import TrainerCallback

    class KeepsPosition(TrainerCallback):  # type: ignore[misc, unused-ignore]
        def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            check_batches(args)

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            _keep(state, position())
            if on_trained is not None:
                on_trained(state.global_step, taken())

    return KeepsPosition()


def check_batches(args: Any) -> None:
    """Be sure that a step trains on all that was taken for it.

    Raises:
        ValueError: a checkpoint would fall between two steps on the same rollouts.
    """
    every = args.steps_per_generation * args.num_iterations
    if args.gradient_accumulation_steps % every:
        raise ValueError(
            f"steps_per_generation x num_iterations is {every}, gradient_accumulation_steps "
            f"{args.gradient_accumulation_steps}: a checkpoint would fall between steps on the same rollouts, and no "
            "position would be right; let the first divide the second, or leave callback() out"
        )


def trained_callback(trained: Trained, on_trained: OnTrained | None) -> Any:
    """For `AsyncGRPOTrainer`, which collates batches before it trains on them: it is watched while it collates."""
    from transformers import TrainerCallback

    class KeepsPosition(TrainerCallback):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            self._tasks: list[str] = []

        def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            loader = getattr(more["train_dataloader"], "base_dataloader", more["train_dataloader"])
            loader.collate_fn = _watched(loader.collate_fn, trained)

        def on_substep_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self._tasks += trained.train()

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            tasks, self._tasks = [*self._tasks, *trained.train()], []
            _keep(state, trained.position)
            if on_trained is not None:
                on_trained(state.global_step, tasks)

    return KeepsPosition()


def _watched(collate: Callable[[Any], Any], trained: Trained) -> Callable[[Any], Any]:
    """TRL's planner hands the collator a list that holds one batch: its rows, each with samples."""

    def watched(examples: Any) -> Any:
        (rows,) = examples
        trained.collate(sample["group_id"] for row in rows for sample in row.samples)
        return collate(examples)

    return watched


def _keep(state: Any, position: JsonObject | None) -> None:
    """In the shape that transformers writes the state of its own callbacks in."""
    state.stateful_callbacks[KEY] = {"args": {}, "attributes": {"position": position}}
