r"""Symbolic maths: whether an answer in LaTeX or plain text equals the expected one, by `math-verify` (and sympy).

Needs the extra `odradek[math]`. Time is bounded with a signal, so it works in a process's main thread alone, where the
verifier-worker runs `verify`. The bound is one of processor time, so that a busy machine decides no reward; it lies below
that worker's deadline (10 s), which is the second guard.
"""

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from types import FrameType
from typing import Any

from odradek.verifiers.libraries import needed

_EXTRA = "math"
MOST_SECONDS = 4.0
AGAIN_SECONDS = 0.1
_PLACES = 6
_DIGITS = 30
_LONGEST = 100_000
_DELIMITERS = (("\\(", "\\)"), ("\\[", "\\]"), ("$$", "$$"), ("$", "$"))


class NotMainThread(RuntimeError):
    """Symbolic maths was asked for outside a process's main thread, where its time can't be bounded."""


class UnreadableAnswer(ValueError):
    """The expected answer is no mathematics that can be read: no reply could be right."""


@dataclass(frozen=True, slots=True)
class Symbolic:
    """How a reply compares. `extracted`: what was read in it, as sympy writes it; None where nothing could be read.

    `timed_out`: the comparison took longer than it may; it then counts as not equal.
    """

    equal: bool
    extracted: str | None = None
    timed_out: bool = False


class _TimeIsUp(BaseException):
    """No `Exception`, so that no library on the way takes it for its own."""


def compare(text: str, expected: str, seconds: float = MOST_SECONDS) -> Symbolic:
    r"""Whether the last expression in `text` equals `expected`, given in LaTeX; what is in `\boxed{}` goes first.

    Several boxes with nothing but words between them are read as a set: pass the last one (`boxes.last_box`) by itself
    where it alone should count.
    Decimals are equal when they are to six places. Of `text`, the last 100,000 characters are read. `seconds` of processor
    time is what each of the two, reading what is expected and comparing, may take.

    Raises:
        UnreadableAnswer: nothing can be read in `expected`, or not in time.
        NotMainThread: this is not the main thread of its process.
        MissingLibrary: math-verify is not installed.
    """
    if threading.current_thread() is not threading.main_thread():
        raise NotMainThread(
            "symbolic maths bounds its time with a signal, so it must run in a process's main thread: call it in verify,"
            " or in a process of its own"
        )
    library = _library()
    try:
        with _bounded(seconds):
            gold = _read_expected(expected)
    except _TimeIsUp:
        raise UnreadableAnswer(f"{expected[:200]!r} can't be read in {seconds} s") from None
    try:
        with _bounded(seconds):
            return _compared(library, text[-_LONGEST:], gold)
    except _TimeIsUp:
        return Symbolic(equal=False, timed_out=True)


def load() -> None:
    """Import the library, which takes seconds: for `Environment.warm_up`.

    Raises:
        MissingLibrary: math-verify is not installed.
    """
    _library()


def without_delimiters(text: str) -> str:
    r"""`text` without the `\(...\)`, `\[...\]` or `$...$` around all of it."""
    text = text.strip()
    for opening, closing in _DELIMITERS:
        inner = text[len(opening) : len(text) - len(closing)]
        if len(text) > len(opening) + len(closing) and text.startswith(opening) and text.endswith(closing):
            return text if closing in inner else inner.strip()
    return text


def _compared(library: Any, text: str, gold: tuple[Any, ...]) -> Symbolic:
    read = library.parse(
        text, [library.ExprExtractionConfig(), library.LatexExtractionConfig()], parsing_timeout=None
    )
    equal = next((one for one in read if _equal(library, gold, one)), None)
    shown = equal if equal is not None else read[0] if read else None
    return Symbolic(equal is not None, None if shown is None else _written(shown))


def _equal(library: Any, gold: tuple[Any, ...], read: Any) -> bool:
    if any(_same_number(one, read) for one in gold):
        return True
    return bool(library.verify(list(gold), read, float_rounding=_PLACES, timeout_seconds=None))


def _same_number(one: Any, other: Any) -> bool:
    """Whether two constants agree to 30 digits: known at once, where a proof by simplifying can take a minute."""
    if not (getattr(one, "is_number", False) and getattr(other, "is_number", False)):
        return False
    left, right = one.evalf(_DIGITS), other.evalf(_DIGITS)
    if not (left.is_Float and right.is_Float):
        return False
    return bool(abs(left - right) <= abs(left) * 10 ** (2 - _DIGITS))


def _written(expression: Any) -> str | None:
    """None for a number so long that Python refuses to write it."""
    try:
        return str(expression)
    except ValueError:
        return None


@lru_cache(512)
def _read_expected(expected: str) -> tuple[Any, ...]:
    """The rollouts of one task share their answer, and reading is dear."""
    library = _library()
    boxed = "\\boxed{" + without_delimiters(expected) + "}"
    read = library.parse(boxed, [library.LatexExtractionConfig()], parsing_timeout=None)
    if not read:
        raise UnreadableAnswer(f"{expected[:200]!r} is no mathematics that can be read")
    return tuple(read)


@cache
def _library() -> Any:
    """math-verify. Its warnings are about what it is told here: to leave the time to us."""
    library = needed("math_verify", _EXTRA)
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    return library


@contextmanager
def _bounded(seconds: float) -> Iterator[None]:
    """Interrupt what runs here when its processor time is up, and again while it does not stop."""
    previous = signal.signal(signal.SIGVTALRM, _interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, AGAIN_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, previous)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise _TimeIsUp
