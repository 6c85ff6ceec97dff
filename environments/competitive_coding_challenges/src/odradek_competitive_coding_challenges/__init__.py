"""Tasks of programming contests, graded by their tests and subtasks, for C++ programs."""

from odradek_competitive_coding_challenges.environment import CompetitiveCodingChallenges

__all__ = ["CompetitiveCodingChallenges"]
