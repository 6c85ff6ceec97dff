"""How a program ended, and what came of it."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from odradek.programs.manifest import Program, Sign
from odradek.programs.reading import Written, text_of

MOST_RESULT = 256 << 10
MOST_REASON = 2_000
MOST_LOG = 16 << 10
"""Characters that are kept of each: of a result and a reason the beginning, of a log the end."""

_SIGNALLED = 128
"""Above it an exit code is a signal's number, as a shell tells it."""


class Trouble(StrEnum):
    """Why a program failed. Stable names."""

    NOT_INSTALLED = "not_installed"
    NOT_CALLABLE = "not_callable"
    TIMED_OUT = "timed_out"
    REPORTED = "reported"
    EXIT_CODE = "exit_code"
    NO_RESULT = "no_result"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a program. `result`: the agent's last word; `reason`: of a failure, for a person.

    `exit_code` is None where no process of ours ended by itself.
    """

    result: str | None = None
    trouble: Trouble | None = None
    reason: str = ""
    log_tail: str = ""
    exit_code: int | None = None

    @property
    def failed(self) -> bool:
        return self.trouble is not None

    def kept(self, token: str) -> "Outcome":
        """What is kept of it: without the token, and not too long."""
        result, reason, log = (
            _without(token, text) for text in (self.result or "", self.reason, self.log_tail)
        )
        return replace(
            self,
            result=None if self.result is None else result[:MOST_RESULT],
            reason=reason[:MOST_REASON],
            log_tail=log[-MOST_LOG:],
        )


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a process; `exit_code` None: its time was up."""

    exit_code: int | None
    written: Written


def conclude(program: Program, ending: Ending, seconds: float) -> Outcome:
    """What came of a process. What the program says itself is told before its exit code, which some don't set."""
    told = Outcome(log_tail=ending.written.at(program.log) or "", exit_code=ending.exit_code)
    trouble = _trouble(program, ending, seconds)
    if trouble is not None:
        return replace(told, trouble=trouble[0], reason=trouble[1])
    values = ending.written.values(program.result)
    if not values and not program.result.optional:
        reason = "it ended well but left no result where its manifest says"
        return replace(told, trouble=Trouble.NO_RESULT, reason=reason)
    return replace(told, result=text_of(values).strip() if values else None)


def _trouble(program: Program, ending: Ending, seconds: float) -> tuple[Trouble, str] | None:
    if ending.exit_code is None:
        return Trouble.TIMED_OUT, f"it had not ended after {seconds:g} s and was killed"
    for sign in program.failed:
        if (reason := _told(sign, ending.written)) is not None:
            return Trouble.REPORTED, reason
    if ending.exit_code != 0:
        return Trouble.EXIT_CODE, _exit(ending.exit_code, ending.written)
    return None


def _told(sign: Sign, written: Written) -> str | None:
    """The words of a sign of failure; None: it is not there."""
    values = written.values(sign)
    if not (sign.when or sign.unless):
        return text_of(values) if values else None
    if any(value in sign.when for value in values) or (sign.unless and not _all_in(values, sign.unless)):
        words = text_of(written.values(sign, sign.reason)) if sign.reason is not None else ""
        return words or f"it says {sign.path}: {text_of(values) or 'nothing'}"
    return None


def _all_in(values: list[Any], expected: Sequence[Any]) -> bool:
    return bool(values) and all(value in expected for value in values)


def _exit(code: int, written: Written) -> str:
    end = f"exit code {code}" if code <= _SIGNALLED else f"ended by {_signal(code - _SIGNALLED)}"
    stderr = Sign(stream="stderr", read="last_line")
    words = text_of(written.values(stderr))
    return f"{end}: {words}" if words else end


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _without(token: str, text: str) -> str:
    return text.replace(token, "***") if token else text
