"""Letting agent programs play: a workspace, a token that nobody else has, and what their end means."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from odradek.programs import Call, Outcome, Program, ProgramError, Trouble, find_program
from odradek.session_replies import fault, names, overdue, program_failed
from odradek.sessions import Desk, Play
from odradek.threads import in_thread
from odradek_env_worker import programs
from odradek_env_worker.gateway import Gateway
from odradek_runtime.access import Access, Signer
from odradek_schemas.events import ProgramFailed, ProgramFinished, ProgramRequested
from odradek_schemas.events.base import now
from odradek_schemas.failures import Failure, FailureKind

_PREFIX = "odradek-workspace-"
_MAY_BE_THE_GATEWAYS = frozenset({Trouble.EXIT_CODE, Trouble.REPORTED, Trouble.NO_RESULT})
_NEVER_BEGAN = frozenset({Trouble.NOT_INSTALLED, Trouble.NOT_CALLABLE, Trouble.UNREACHABLE})

Run = Callable[[Program, Call, Path, float], Awaitable[Outcome]]


class Player:
    """Lets programs play that ask `gateway`, `most` of them at once."""

    def __init__(
        self,
        gateway: Gateway,
        signer: Signer,
        most: int,
        find: Callable[[str], Program] = find_program,
        run: Run = programs.run,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self._gateway = gateway
        self._signer = signer
        self._most = most
        self._places = asyncio.Semaphore(most)
        self._find = find
        self._run = run
        self._clock = clock

    def at(self, partition: int) -> Play:
        """For the sessions of one partition: the programs' calls are of its number."""
        return partial(self._play, partition)

    async def _play(
        self, partition: int, action: ProgramRequested, desk: Desk
    ) -> ProgramFinished | ProgramFailed:
        try:
            program = await in_thread(self._find, action.program)
        except ProgramError as error:
            return program_failed(action, fault(action, FailureKind.UNKNOWN_PROGRAM, str(error)))
        try:
            async with asyncio.timeout(self._left(action)):
                await self._places.acquire()
        except TimeoutError:
            return program_failed(action, self._no_place(action))
        try:
            return await self._play_now(program, partition, action, desk)
        finally:
            self._places.release()

    async def _play_now(
        self, program: Program, partition: int, action: ProgramRequested, desk: Desk
    ) -> ProgramFinished | ProgramFailed:
        if self._left(action) <= 0:
            return program_failed(action, overdue(action))
        began = time.perf_counter()
        with _workspace() as workspace:
            await in_thread(desk.furnish, workspace)
            await desk.begin()
            call, seconds = self._call(partition, action), self._left(action)
            outcome = await self._run(program, call, workspace, seconds)
            await in_thread(desk.collect, workspace)
        if outcome.trouble in _MAY_BE_THE_GATEWAYS and not await self._gateway.is_there():
            await self._gateway.comes_back()
            return program_failed(action, fault(action, FailureKind.GATEWAY_UNAVAILABLE, outcome.reason))
        return _reply(action, outcome, 1000 * (time.perf_counter() - began))

    def _no_place(self, action: ProgramRequested) -> Failure:
        message = (
            f"no place for program {action.program!r} within its {action.timeout_seconds:g} s: {self._most} run at once "
            "(ODRADEK_PROGRAMS); ask for fewer rollouts at a time, or add env-workers"
        )
        return fault(action, FailureKind.PROGRAM_DEADLINE, message)

    def _left(self, action: ProgramRequested) -> float:
        return action.timeout_seconds - (self._clock() - action.time).total_seconds()

    def _call(self, partition: int, action: ProgramRequested) -> Call:
        access = Access(
            run_id=action.run_id,
            rollout_id=action.rollout_id,
            program_id=action.id,
            partition=partition,
            model=action.model,
            sampling=action.sampling,
            model_seconds=action.model_seconds,
            issued=self._clock(),
            expires=action.time + timedelta(seconds=action.timeout_seconds),
        )
        return Call(
            prompt=action.prompt,
            model=action.model,
            base_url=self._gateway.url,
            token=self._signer.sign(access),
            rollout_id=action.rollout_id,
        )


@contextmanager
def _workspace() -> Iterator[Path]:
    """A new folder by its true path, which is removed whatever is in it."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


def _reply(action: ProgramRequested, outcome: Outcome, latency_ms: float) -> ProgramFinished | ProgramFailed:
    """A program that was not begun is nobody's failure but its worker's; else the agent-worker judges."""
    if outcome.trouble in _NEVER_BEGAN:
        return program_failed(action, fault(action, FailureKind.UNKNOWN_PROGRAM, outcome.reason))
    return ProgramFinished(
        **names(action, "finished"),
        call_id=action.id,
        exit_code=outcome.exit_code,
        result=outcome.result or "",
        failed=outcome.reason if outcome.failed else None,
        overdue=outcome.trouble is Trouble.TIMED_OUT,
        log=outcome.log_tail,
        latency_ms=latency_ms,
    )
