"""What is tried: a Python script, a Python function, or a program that was compiled, each played once for every input."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Protocol

from pydantic import BaseModel, ValidationError

from odradek.verifiers.programs.jobs import Ended, Finished, Job, Limits, Runner, RunnerUnavailable
from odradek.verifiers.programs.local import ending
from odradek.verifiers.programs.names import imports

_INSIDE, _SOURCE, _NAMES, _BINARY = "inside.py", "solution.py", "names.py", "solution"
_START_SECONDS = 5.0
"""Time beside the program's own: a fence and a Python start."""

_ESCAPED = 8
"""An output in a report is up to six times as long, with each byte as an escape."""

_COMPILE = 'g++ -std=c++17 -O2 -x c++ -o "$TMPDIR/solution" "$1" && cat "$TMPDIR/solution"'
_NOT_FOUND = 127
_COMPILE_SECONDS = 60.0
_COMPILE_LIMITS = Limits(_COMPILE_SECONDS, memory_mib=2048, output_bytes=64 << 20)


class CompileError(ValueError):
    """The source does not compile; says what the compiler said."""


class Program(Protocol):
    """Something that reads an input and writes an output."""

    def job(self, inputs: Sequence[str], limits: Limits) -> Job:
        """One job that plays it for each input in turn, each within the seconds and the output of `limits`."""


@dataclass(frozen=True, slots=True)
class PythonScript:
    """Reads the standard input and writes the standard output."""

    source: str

    def job(self, inputs: Sequence[str], limits: Limits) -> Job:
        return _python_job("script", self.source, [], inputs, limits)


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function, or a method of a class `Solution`: reads a JSON list of arguments and writes its result as JSON."""

    source: str
    name: str

    def job(self, inputs: Sequence[str], limits: Limits) -> Job:
        return _python_job("function", self.source, [self.name], inputs, limits)


@dataclass(frozen=True, slots=True)
class Binary:
    """An executable file of this machine's kind."""

    content: bytes

    def job(self, inputs: Sequence[str], limits: Limits) -> Job:
        command = ("python3", _INSIDE, "binary", *_of_each(limits), _BINARY)
        return Job(command, {_INSIDE: _inside(), _BINARY: self.content}, _given(inputs))


def compile_cpp(source: str, runner: Runner) -> Binary:
    """C++17, compiled with `g++ -O2` behind the same fence.

    Raises:
        CompileError: it does not compile, or not within a minute.
        RunnerUnavailable: there is no g++; and see `Runner`.
    """
    job = Job(("/bin/sh", "-c", _COMPILE, "sh", "solution.cpp"), {"solution.cpp": _encoded(source)})
    finished = runner.run(job, _COMPILE_LIMITS)
    if finished.code == _NOT_FOUND and finished.ended is Ended.EXITED:
        raise RunnerUnavailable("g++ is not installed where programs run")
    if finished.ended is not Ended.EXITED or finished.code != 0:
        raise CompileError(
            finished.stderr.decode(errors="replace").strip() or f"the compiler {finished.ended}"
        )
    return Binary(finished.stdout)


def play(program: Program, inputs: Sequence[str], runner: Runner, limits: Limits) -> list[Finished]:
    """Play `program` for each input in one job. Gives one run at least, and no more after one that isn't clean.

    There are fewer, too, where the outputs together are too long for one job, or the program brought down what plays
    it: when it did so in the first run, that counts as ended as the whole job has.

    Raises:
        RunnerUnavailable: see `Runner`.
    """
    whole = replace(
        limits,
        seconds=limits.seconds * len(inputs) + _START_SECONDS,
        output_bytes=limits.output_bytes * _ESCAPED,
    )
    finished = runner.run(program.job(inputs, limits), whole)
    return list(_runs(finished.stdout))[: len(inputs)] or [_broken(finished)]


class _Told(BaseModel):
    """One line of what `inside.py` tells."""

    status: int
    in_time: bool
    seconds: float
    stdout: str
    stderr: str


def _runs(report: bytes) -> Iterator[Finished]:
    for line in report.splitlines():
        try:
            told = _Told.model_validate_json(line)
        except ValidationError:  # the program wrote between the lines
            return
        ended, code = ending(told.status, told.in_time)
        yield Finished(ended, code, told.stdout.encode(), told.stderr.encode(), told.seconds)


def _broken(finished: Finished) -> Finished:
    """The run that is not told of: it ended as the whole did, and has no output."""
    ended = Ended.SIGNALLED if finished.ended is Ended.EXITED else finished.ended
    return Finished(ended, finished.code, b"", finished.stderr, finished.seconds)


def _python_job(kind: str, source: str, more: list[str], inputs: Sequence[str], limits: Limits) -> Job:
    files = {_INSIDE: _inside(), _SOURCE: _encoded(source), _NAMES: imports(source).encode()}
    return Job(("python3", _INSIDE, kind, *_of_each(limits), _SOURCE, _NAMES, *more), files, _given(inputs))


def _of_each(limits: Limits) -> tuple[str, str]:
    return str(limits.seconds), str(limits.output_bytes)


def _given(inputs: Sequence[str]) -> bytes:
    return json.dumps(list(inputs)).encode()


def _encoded(source: str) -> bytes:
    """Models write half surrogates, too: the compiler shall complain of them."""
    return source.encode("utf-8", "surrogatepass")


@cache
def _inside() -> bytes:
    return resources.files(__package__).joinpath(_INSIDE).read_bytes()
