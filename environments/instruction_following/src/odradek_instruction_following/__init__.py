"""Instructions about the form of a reply, each checked by a program."""

from odradek_instruction_following.environment import InstructionFollowing

__all__ = ["InstructionFollowing"]
