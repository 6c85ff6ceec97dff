"""Programming tasks, graded by unit tests that the model's Python program must pass."""

from odradek_code_gen.environment import CodeGen

__all__ = ["CodeGen"]
