"""The puzzles of the reasoning-gym library, graded by it."""

from odradek_reasoning_gym.environment import ReasoningGym

__all__ = ["ReasoningGym"]
