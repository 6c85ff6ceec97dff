"""What both trainers share: how they are told of the run and the server, how weights get there, and what is noted."""

import argparse
import json
import os
import time
import urllib.request
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from safetensors.torch import save
from transformers import AutoTokenizer, TrainerCallback

from odradek_training.announcing import PolicyAnnouncer
from odradek_training.trl import position_in, step_of

PUSH_SECONDS = 60.0
GROUP = 8
"""Rollouts of a task that are compared: `odradek run --samples 8`."""
BATCH = 32
"""Rollouts of a step."""
LEARNING_RATE = 3e-3


def arguments(about: str | None) -> argparse.Namespace:
    """Where Kafka is, `ODRADEK_` settings in the environment tell; `ODRADEK_TOKEN` is what `odradek token` prints."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--run", required=True, help="the run to train on: odradek run ... --demand 0 --detach"
    )
    parser.add_argument(
        "--gateway", required=True, help="the model gateway's address; `odradek status` tells it"
    )
    parser.add_argument("--server", required=True, help="the policy server's address")
    parser.add_argument("--policy", default="policy", help="what the model is called in Odradek")
    parser.add_argument("--model", type=Path, required=True, help="the folder of tiny_model.py")
    parser.add_argument("--out", type=Path, required=True, help="a folder for checkpoints and steps.jsonl")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--save-steps", type=int, default=50)
    parser.add_argument(
        "--ahead", type=int, default=BATCH // GROUP, help="groups played while the trainer computes"
    )
    return parser.parse_args()


class Server:
    """The policy server, as a trainer pushes weights to it, and the gateway, which is then told of them."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self._url = f"{asked.server}/weights"
        self.announce = PolicyAnnouncer(asked.gateway, os.environ["ODRADEK_TOKEN"], asked.policy)

    def push(self, weights: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Returns when all replies have these weights."""
        body = save({name: tensor.detach().cpu().contiguous().clone() for name, tensor in weights})
        urllib.request.urlopen(
            urllib.request.Request(self._url, body, method="PUT"), timeout=PUSH_SECONDS
        ).close()


class Steps(TrainerCallback):
    """One line a step in `steps.jsonl`: what TRL logs, and the tasks whose groups were trained on."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "steps.jsonl"
        self._tasks: Sequence[str] = ()

    def trained(self, step: int, tasks: Sequence[str]) -> None:
        self._tasks = tasks

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
        if "reward" in (logs or {}):
            line = {"step": state.global_step, "time": time.time(), "tasks": self._tasks, **logs}
            with self._path.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(f"step {state.global_step}: reward {logs['reward']:.3f}", flush=True)


def start_of(checkpoint: Path | None) -> tuple[Any, int]:
    """Where the stream goes on, and the step of the checkpoint."""
    if checkpoint is None:
        return None, 0
    return position_in(checkpoint), step_of(checkpoint) or 0


def common(asked: argparse.Namespace) -> dict[str, Any]:
    """What both trainers are configured with."""
    return {
        "output_dir": str(asked.out),
        "use_cpu": True,
        "bf16": False,
        "max_steps": asked.steps,
        "per_device_train_batch_size": BATCH,
        "gradient_accumulation_steps": 1,
        "num_generations": GROUP,
        "learning_rate": LEARNING_RATE,
        "lr_scheduler_type": "constant",
        "logging_steps": 1,
        "report_to": "none",
        "save_strategy": "steps",
        "save_steps": asked.save_steps,
        "save_total_limit": 2,
        "gradient_checkpointing": False,
        "disable_tqdm": True,
        "ignore_data_skip": True,
    }


def tokenizer(asked: argparse.Namespace) -> Any:
    return AutoTokenizer.from_pretrained(asked.model)


def no_prompts() -> Dataset:
    """Trainers want a data set; the tasks come with Odradek's run."""
    return Dataset.from_dict({"prompt": ["-"] * BATCH})
