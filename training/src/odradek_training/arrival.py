"""A reward as it came out of the log."""

from dataclasses import dataclass

from odradek_schemas.events import RewardAssigned


@dataclass(frozen=True, slots=True)
class Arrival:
    """The reward of one rollout, where it lies, and when it was written (seconds since 1970, as the log has it).

    `size`: the rollouts planned for its task. `reward` None: the record is there and can't be read.
    """

    run_id: str
    task_id: str
    rollout_id: str
    size: int
    partition: int
    offset: int
    time: float
    reward: RewardAssigned | None
