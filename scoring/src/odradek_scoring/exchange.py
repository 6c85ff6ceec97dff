"""What the worker and its verifier processes say to each other, and the frames it travels in.

A frame is a length (4 bytes, big endian) and a payload. Towards the process: a pickled list of jobs, from the worker
that it belongs to. Back: JSON, because the process runs code that the worker need not trust.
"""

import mmap
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from odradek_schemas.base import JsonObject, Model
from odradek_schemas.events import VerifierIdentity
from odradek_schemas.failures import Failure
from odradek_schemas.rollouts import Question, Reply, Reward

HEADER = struct.Struct(">I")
OUT_OF_MEMORY = 77
"""The exit code of a process whose verifier ran into the memory limit."""

_STARTED = struct.Struct("=d")
_INDEX = struct.Struct("=q")
_LOADING = struct.Struct("=?")
_NOTHING = -1


class Job(NamedTuple):
    """One trajectory to verify. `event` is a `TrajectoryFinished` in JSON; answer and evidence have been opened.

    `rounds`: what judges have said so far, as it is given to `odradek.judging.advance`.
    """

    environment: str
    event: bytes
    answer: JsonObject | None = None
    evidence: JsonObject | None = None
    settings: JsonObject = {}
    rounds: Sequence[Sequence[Reply]] = ()


class Verdict(Model):
    """What became of a job: a reward, why there is none, or what judges must be asked first."""

    reward: Reward | None = None
    questions: list[Question] = []
    failure: Failure | None = None
    verifier: VerifierIdentity | None = None


class Report(Model):
    """From a process: verdicts by the job's place in its batch."""

    verdicts: dict[int, Verdict] = {}


def framed(payload: bytes) -> bytes:
    return HEADER.pack(len(payload)) + payload


class Progress:
    """A page shared by both sides: which job of the batch the process is at, and since when (monotonic, seconds).

    `loading`: it is loading what the job needs, which may take as long as a start.
    """

    SIZE = mmap.PAGESIZE

    def __init__(self, descriptor: int) -> None:
        self._page: Any = mmap.mmap(descriptor, self.SIZE)

    def mark(self, index: int, now: float, loading: bool = False) -> None:
        """The time goes first: read in between, an old job with a new time harms nobody."""
        _STARTED.pack_into(self._page, 0, now)
        _LOADING.pack_into(self._page, _STARTED.size + _INDEX.size, loading)
        _INDEX.pack_into(self._page, _STARTED.size, index)

    def clear(self, now: float) -> None:
        self.mark(_NOTHING, now)

    def read(self) -> tuple[int | None, float]:
        """(the job's place in the batch or None, since when)."""
        index: int = _INDEX.unpack_from(self._page, _STARTED.size)[0]
        started: float = _STARTED.unpack_from(self._page, 0)[0]
        return (None if index == _NOTHING else index), started

    @property
    def loading(self) -> bool:
        flag: bool = _LOADING.unpack_from(self._page, _STARTED.size + _INDEX.size)[0]
        return flag

    def close(self) -> None:
        self._page.close()
