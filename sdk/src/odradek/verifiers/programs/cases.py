"""Unit tests of programs: what is given, what is expected, and what came of each."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from pydantic import JsonValue

from odradek.verifiers.programs.comparing import outputs_match, values_match
from odradek.verifiers.programs.jobs import Ended, Finished, Limits, Runner
from odradek.verifiers.programs.programs import Program, play

_FIRST_BATCH, _GROWTH = 1, 4
_KEPT_NOTE = 500


class Outcome(StrEnum):
    """What came of one case."""

    PASSED = "passed"
    WRONG = "wrong"
    """It ended well, with another result."""
    ERROR = "error"
    """It raised an exception, or left with a status that is not 0."""
    TIMEOUT = "timeout"
    KILLED = "killed"
    """A signal ended it, or a limit other than time, or it brought down what plays it."""


class Case(Protocol):
    """One test. What is expected never leaves the verifier: a program gets what is given, its output is compared here."""

    @property
    def given(self) -> str:
        """The program's input."""

    def accepts(self, output: str) -> bool:
        """Whether `output`, whatever it is, is right."""


@dataclass(frozen=True, slots=True)
class TextCase:
    """A test of what is read and written."""

    given: str
    expected: str

    def accepts(self, output: str) -> bool:
        return outputs_match(self.expected, output)


@dataclass(frozen=True, slots=True)
class CallCase:
    """A test of a function: its arguments and its result."""

    arguments: tuple[JsonValue, ...]
    expected: JsonValue

    @property
    def given(self) -> str:
        return json.dumps(self.arguments)

    def accepts(self, output: str) -> bool:
        try:
            returned = json.loads(output)
        except (ValueError, RecursionError):
            return False
        return values_match(self.expected, returned)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What came of one case. `note` is the end of what the program wrote to its standard error."""

    outcome: Outcome
    seconds: float
    note: str = ""


def try_cases(
    program: Program, cases: Sequence[Case], runner: Runner, limits: Limits, *, all_of_them: bool = False
) -> list[CaseResult]:
    """Try the cases in order, up to the first that isn't passed (`all_of_them`: to the end).

    Several are tried in one job, more each time, so that a wrong program costs little and a right one starts seldom.

    Raises:
        RunnerUnavailable: see `Runner`; no result is known then.
    """
    results: list[CaseResult] = []
    size = _FIRST_BATCH
    while len(results) < len(cases):
        batch = cases[len(results) : len(results) + size]
        finished = play(program, [case.given for case in batch], runner, limits)
        results += _judged(batch, finished, all_of_them)
        if results[-1].outcome is not Outcome.PASSED and not all_of_them:
            break
        size *= _GROWTH
    return results


def _judged(cases: Sequence[Case], runs: Sequence[Finished], all_of_them: bool) -> Iterator[CaseResult]:
    for case, run in zip(cases, runs, strict=False):  # after a run that isn't clean there are none
        result = CaseResult(
            _outcome(case, run), run.seconds, run.stderr.decode(errors="replace")[-_KEPT_NOTE:]
        )
        yield result
        if result.outcome is not Outcome.PASSED and not all_of_them:
            return


def _outcome(case: Case, run: Finished) -> Outcome:
    match run.ended:
        case Ended.OUT_OF_TIME:
            return Outcome.TIMEOUT
        case Ended.SIGNALLED | Ended.OUT_OF_OUTPUT:
            return Outcome.KILLED
        case Ended.EXITED if run.code != 0:
            return Outcome.ERROR
        case Ended.EXITED:
            return Outcome.PASSED if case.accepts(run.stdout.decode(errors="replace")) else Outcome.WRONG
