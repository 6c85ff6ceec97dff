"""Letting agent programs play: a workspace, a token that nobody else has, and what their end means."""

import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from odradek.programs import Call, Outcome, Program, ProgramError, Trouble, find_program
from odradek.session_replies import fault, names, overdue, program_failed
from odradek.sessions import Play
from odradek.threads import in_thread
from odradek_env_worker import programs
from odradek_runtime.access import Access, Signer
from odradek_schemas.events import ProgramFailed, ProgramFinished, ProgramRequested
from odradek_schemas.events.base import now
from odradek_schemas.failures import FailureKind

_PREFIX = "odradek-workspace-"
_NEVER_BEGAN = frozenset({Trouble.NOT_INSTALLED, Trouble.NOT_CALLABLE, Trouble.UNREACHABLE})

Run = Callable[[Program, Call, Path, float], Awaitable[Outcome]]
Hook = Callable[[Path], None]


class Player:
    """Lets programs play that ask the gateway at `gateway_url` (without /v1)."""

    def __init__(
        self,
        gateway_url: str,
        signer: Signer,
        find: Callable[[str], Program] = find_program,
        run: Run = programs.run,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self._gateway_url = gateway_url
        self._signer = signer
        self._find = find
        self._run = run
        self._clock = clock

    def at(self, partition: int) -> Play:
        """For the sessions of one partition: the programs' calls are of its number."""
        return partial(self._play, partition)

    async def _play(
        self, partition: int, action: ProgramRequested, furnish: Hook, collect: Hook
    ) -> ProgramFinished | ProgramFailed:
        try:
            program = await in_thread(self._find, action.program)
        except ProgramError as error:
            return program_failed(action, fault(action, FailureKind.UNKNOWN_PROGRAM, str(error)))
        began, seconds = time.perf_counter(), self._left(action)
        if seconds <= 0:
            return program_failed(action, overdue(action))
        with _workspace() as workspace:
            await in_thread(furnish, workspace)
            outcome = await self._run(program, self._call(partition, action), workspace, seconds)
            await in_thread(collect, workspace)
        return _reply(action, outcome, 1000 * (time.perf_counter() - began))

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
            base_url=self._gateway_url,
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
