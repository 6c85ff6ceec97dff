"""Agent programs as harnesses: a program is run as a command, and asks its model through the gateway.

What is special of each program stands in its manifest, a TOML file (docs/harnesses.md). Nothing here does I/O, but for
reading manifests.
"""

from odradek.programs.catalog import (
    ProgramError,
    UnknownProgram,
    find_program,
    is_manifest,
    program_names,
    read_program,
)
from odradek.programs.launching import Call, Launch, LaunchError, launch
from odradek.programs.manifest import Program
from odradek.programs.outcome import Outcome, Trouble

__all__ = [
    "Call",
    "Launch",
    "LaunchError",
    "Outcome",
    "Program",
    "ProgramError",
    "Trouble",
    "UnknownProgram",
    "find_program",
    "is_manifest",
    "launch",
    "program_names",
    "read_program",
]
