"""Maths problems, graded by math-verify and, where that finds no equality, by a judge."""

from odradek_math_with_judge.environment import MathWithJudge

__all__ = ["MathWithJudge"]
