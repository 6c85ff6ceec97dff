"""A trainer that is killed at every moment of every step, and started again until it reaches the end of its run.

`mortal_trainer.py BOOTSTRAP PREFIX CHECKPOINT`. Its weights are the list of what it trained on; they and the stream's
position are one file, replaced as a whole. Each life is a process of its own, which kills itself by SIGKILL.
"""

import json
import os
import signal
import sys
from pathlib import Path

from odradek_training import Deployment, RewardStream

MOMENTS = ("with a group", "with new weights", "with a checkpoint half written", "with a checkpoint written")


def die_at(moment: str, deadly: str) -> None:
    if moment == deadly:
        os.kill(os.getpid(), signal.SIGKILL)


def train(deployment: Deployment, checkpoint: Path, deadly: str) -> None:
    """Train to the end of the run, or to the next `deadly` moment."""
    saved = json.loads(checkpoint.read_text()) if checkpoint.exists() else {"weights": [], "stream": None}
    weights = saved["weights"]
    position = saved["stream"]
    with RewardStream.sync(
        deployment, run="r", group_size=2, position=position, incomplete="partial"
    ) as stream:
        for group in stream:
            die_at("with a group", deadly)
            weights.append([group.task_id, [reward.sample for reward in group.rewards]])
            die_at("with new weights", deadly)
            partial = checkpoint.with_suffix(".partial")
            partial.write_text(json.dumps({"weights": weights, "stream": stream.position()}))
            die_at("with a checkpoint half written", deadly)
            partial.replace(checkpoint)
            die_at("with a checkpoint written", deadly)


def live(deployment: Deployment, checkpoint: Path, deadly: str) -> bool:
    """One life; whether it was ended by a kill."""
    child = os.fork()
    if not child:
        train(deployment, checkpoint, deadly)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or status == 0, f"the trainer ended with status {status}"
    return killed


def main() -> None:
    """Die at each moment of a step, the last of which alone keeps the step; prints how often it died."""
    bootstrap, prefix, checkpoint = sys.argv[1:]
    deployment, deaths = Deployment(bootstrap, prefix), 0
    while live(deployment, Path(checkpoint), MOMENTS[deaths % len(MOMENTS)]):
        deaths += 1
    print(deaths)


main()
