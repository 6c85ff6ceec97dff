"""Runs agent programs: each in a process tree of its own, of which nothing is left."""

from odradek_env_worker.programs.runner import run

__all__ = ["run"]
