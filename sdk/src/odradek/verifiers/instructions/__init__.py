"""Instructions whose following a program can check: those of IFEval, and those that Open-Instruct trains with.

Names and arguments are those of the two: Zhou et al., "Instruction-Following Evaluation for Large Language Models" (2023),
and Lambert et al., "Tulu 3" (2024), whose set NeMo Gym's `instruction_following` rows use. The checks are written anew;
docs/verifiers.md says where they judge otherwise than those programs do.
"""

from odradek.verifiers.instructions import copies, formats, keywords, languages, lengths, letters, places
from odradek.verifiers.instructions.registry import (
    Instruction,
    InvalidInstruction,
    UnknownInstruction,
    find,
    follows,
    names,
)

__all__ = [
    "Instruction",
    "InvalidInstruction",
    "UnknownInstruction",
    "copies",
    "find",
    "follows",
    "formats",
    "keywords",
    "languages",
    "lengths",
    "letters",
    "names",
    "places",
]
