"""An unmodified NeMo Gym resources server as an environment."""

from odradek_nemo_gym.environment import NemoGym

__all__ = ["NemoGym"]
