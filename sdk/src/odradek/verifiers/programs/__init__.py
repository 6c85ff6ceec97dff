"""Unit tests of programs that a model wrote: run behind a fence, and compared out of their reach.

results = try_cases(PythonScript(source), [TextCase("1 2", "3")], local_runner(), Limits())
passed = all(result.outcome is Outcome.PASSED for result in results)
"""

from odradek.verifiers.programs.cases import CallCase, Case, CaseResult, Outcome, TextCase, try_cases
from odradek.verifiers.programs.isolation import Isolation
from odradek.verifiers.programs.jobs import Ended, Finished, Job, Limits, Runner, RunnerUnavailable
from odradek.verifiers.programs.local import LocalRunner, local_runner
from odradek.verifiers.programs.programs import (
    Binary,
    CompileError,
    Program,
    PythonFunction,
    PythonScript,
    compile_cpp,
)
from odradek.verifiers.programs.settings import ProgramSettings

__all__ = [
    "Binary",
    "CallCase",
    "Case",
    "CaseResult",
    "CompileError",
    "Ended",
    "Finished",
    "Isolation",
    "Job",
    "Limits",
    "LocalRunner",
    "Outcome",
    "Program",
    "ProgramSettings",
    "PythonFunction",
    "PythonScript",
    "Runner",
    "RunnerUnavailable",
    "TextCase",
    "compile_cpp",
    "local_runner",
    "try_cases",
]
