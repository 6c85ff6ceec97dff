"""ATIF, the Agent Trajectory Interchange Format: one document a line, written as 1.7, read from 1.0 to 1.8.

Source: Harbor's RFC 0001 and its models (`harbor.models.trajectories`, harbor 0.26).
"""

from odradek.formats.atif.reading import read
from odradek.formats.atif.writing import write

__all__ = ["read", "write"]
