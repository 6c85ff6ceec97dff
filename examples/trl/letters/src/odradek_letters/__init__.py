"""Write a wanted letter, again and again: an easy task for a tiny model."""

from odradek_letters.environment import LONGEST, Letters

__all__ = ["LONGEST", "Letters"]
