"""A folder of text files, for agent programs and for models with tools."""

from odradek_workspace.environment import Workspace

__all__ = ["Workspace"]
