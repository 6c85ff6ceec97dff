"""Multiple-choice questions, graded by the letter of the option that the model chose."""

from odradek_mcqa.environment import Mcqa

__all__ = ["Mcqa"]
