"""A verifier process: takes batches of jobs from a socket, runs the environments' `verify`, and reports.

    python -m odradek_scoring.child PARENT SOCKET PROGRESS MEMORY_MIB [ENVIRONMENT ...]

It never outlives its worker: the kernel kills it when the worker dies, and the end of the socket ends it.
"""

import ctypes
import gc
import json
import math
import os
import pickle
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import BinaryIO

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_json

from odradek.environment import Environment
from odradek.judging import Unscored, advance
from odradek.plugins import PluginError, load_environment
from odradek.verification import verifier_identity
from odradek_schemas.base import JsonObject
from odradek_schemas.codec import explain
from odradek_schemas.events import TrajectoryFinished, VerifierIdentity
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.rollouts import Reward, Trajectory
from odradek_scoring.exchange import (
    HEADER,
    OUT_OF_MEMORY,
    Job,
    Progress,
    Report,
    Verdict,
    framed,
)

_PR_SET_PDEATHSIG = 1
_REPORT_SECONDS = 0.02
"""Verdicts wait for company no longer than this: a slow job does not hold back those before it."""

_events = TypeAdapter(TrajectoryFinished)


class Bench:
    """The environments that this process has loaded, and their verifiers."""

    def __init__(self, load: Callable[[str, JsonObject], Environment] = load_environment) -> None:
        self._load = load
        self._known: dict[tuple[str, bytes], tuple[Environment, VerifierIdentity]] = {}

    def prepare(self, name: str, settings: JsonObject) -> tuple[Environment, VerifierIdentity]:
        key = name, to_json(settings)
        known = self._known.get(key)
        if known is None:
            environment = self._load(name, settings)
            environment.warm_up()
            known = self._known[key] = (environment, verifier_identity(environment))
        return known

    def verdict(self, job: Job, ready: Callable[[], None]) -> Verdict:
        """Run one job; `ready` is called when loading is over and the verifier's own time begins."""
        try:
            environment, identity = self.prepare(job.environment, job.settings)
        except PluginError as error:
            return _failed(FailureKind.UNKNOWN_ENVIRONMENT, str(error))
        except ImportError as error:
            return _failed(FailureKind.VERIFIER_ERROR, f"{job.environment}: {error}")
        ready()
        try:
            answer = _answer(environment, job)
        except ValidationError as error:
            return _failed(
                FailureKind.ANSWER_UNREADABLE,
                f"the answer does not fit: {explain(error)}",
                identity,
            )
        try:
            outcome = advance(environment.verify(_trajectory(job), answer), job.rounds)
            if isinstance(outcome, Reward):
                return Verdict(reward=_checked(outcome), verifier=identity)
            return Verdict(questions=outcome, verifier=identity)
        except MemoryError:
            raise
        except Unscored as unscored:
            return Verdict(failure=unscored.failure, verifier=identity)
        except BaseException as error:  # noqa: BLE001 - user code may raise anything: it becomes a typed failure
            return _failed(FailureKind.VERIFIER_ERROR, f"{type(error).__name__}: {error}", identity)


def serve(bench: Bench, stream: BinaryIO, send: Callable[[bytes], None], progress: Progress) -> None:
    """Work through batches until the stream ends."""
    send(framed(Report().model_dump_json().encode()))
    while header := stream.read(HEADER.size):
        _work(bench, pickle.loads(stream.read(HEADER.unpack(header)[0])), send, progress)


def _work(bench: Bench, jobs: list[Job], send: Callable[[bytes], None], progress: Progress) -> None:
    verdicts: dict[int, Verdict] = {}
    reported = time.monotonic()
    for index, job in enumerate(jobs):
        progress.mark(index, time.monotonic(), loading=True)
        verdicts[index] = bench.verdict(job, partial(_mark, progress, index))
        if (now := time.monotonic()) - reported > _REPORT_SECONDS:
            send(_report(verdicts))
            verdicts, reported = {}, now
    progress.clear(time.monotonic())
    if verdicts:
        send(_report(verdicts))


def _mark(progress: Progress, index: int) -> None:
    progress.mark(index, time.monotonic())


def _report(verdicts: dict[int, Verdict]) -> bytes:
    return framed(Report(verdicts=verdicts).model_dump_json(exclude_none=True).encode())


def _answer(environment: Environment, job: Job) -> BaseModel | None:
    """The opened answer as its environment's model; what is missing is checked like what does not fit."""
    if environment.Answer is None:
        return None
    return environment.Answer.model_validate_json(to_json(job.answer))


def _trajectory(job: Job) -> Trajectory:
    trajectory = _events.validate_json(job.event, extra="ignore").trajectory
    if job.evidence is None:
        return trajectory
    return trajectory.model_copy(update={"evidence": job.evidence})


def _checked(reward: Reward) -> Reward:
    for name, value in {"reward": reward.reward, **reward.components}.items():
        if not math.isfinite(value):
            raise ValueError(f"{name} is {value}, which is no finite number")
    if reward.details:
        json.dumps(reward.details, allow_nan=False)
    return reward


def _failed(kind: FailureKind, message: str, identity: VerifierIdentity | None = None) -> Verdict:
    return Verdict(failure=Failure(kind=kind, stage=Stage.VERIFY, message=message), verifier=identity)


def _tune_garbage_collector() -> None:
    """Look for cycles more seldom: a trajectory is hundreds of objects that go as they came, without one."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _confine(parent: int, memory_mib: int) -> None:
    """Die with the worker; limit memory; leave no core behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_mib << 20, memory_mib << 20))


def main() -> None:
    parent, channel, page, memory_mib = map(int, sys.argv[1:5])
    _confine(parent, memory_mib)
    for descriptor in (channel, page):
        os.set_inheritable(descriptor, False)
    bench = Bench()
    try:
        for name in sys.argv[5:]:
            _prepare(bench, name)
        _tune_garbage_collector()
        connection = socket.socket(fileno=channel)
        serve(bench, connection.makefile("rb"), connection.sendall, Progress(page))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _prepare(bench: Bench, name: str) -> None:
    try:
        bench.prepare(name, {})
    except (PluginError, ImportError) as error:
        sys.stderr.write(f"verifier process: {error}\n")


if __name__ == "__main__":
    main()
