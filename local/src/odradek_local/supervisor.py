"""The local stack as others use it: `up`, `down` and `status` of the detached supervisor of a data directory."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeGuard

from odradek_local.process import tail
from odradek_local.settings import LocalSettings, check_scale
from odradek_local.state import (
    ASKED,
    PartStatus,
    StackError,
    StackState,
    Status,
    SupervisorLock,
    ask_for,
    forget_state,
    read_state,
    supervisor_log,
)

UP_WITHIN_S = 180.0  # the first start downloads the broker
DOWN_WITHIN_S = 60.0
KILLED_WITHIN_S = 5.0
SCALED_WITHIN_S = 120.0
LOOK_EVERY_S = 0.1


def up(
    settings: LocalSettings,
    follow: Callable[[StackState], None] | None = None,
    deadline_s: float = UP_WITHIN_S,
) -> StackState:
    """Starts the stack, or joins the one that this data directory has, and returns when all of it is healthy.

    `follow` is called with the state again and again meanwhile. Raises StackError, with the last log lines of the
    part that failed.
    """
    lock = SupervisorLock(settings.folder)
    try:
        descriptor = lock.take()
    except OSError as error:
        raise StackError(
            f"The data directory {settings.folder} can't be written to ({error.strerror}): see ODRADEK_DATA_DIR."
        ) from error
    if descriptor is not None:
        _spawn(settings, lock, descriptor)
    until = time.monotonic() + deadline_s
    while time.monotonic() < until:
        lives, state = lock.held, read_state(settings.folder)
        if follow and state:
            follow(state)
        if _is_up(state, lives, settings.folder):
            return state
        time.sleep(LOOK_EVERY_S)
    log = supervisor_log(settings.folder)
    raise StackError(
        f"The local stack was not healthy within {deadline_s:.0f} s; its supervisor's log is {log}"
    )


def down(settings: LocalSettings, deadline_s: float = DOWN_WITHIN_S) -> bool:
    """Stops the stack in order; False when none was running.

    Raises StackError when it had to be killed after `deadline_s` seconds: all has ended then, too.
    """
    lock = SupervisorLock(settings.folder)
    if not lock.held:
        return False
    pid = lock.pid
    os.kill(pid, signal.SIGTERM)
    if _released(lock, deadline_s):
        return True
    os.kill(pid, signal.SIGKILL)
    _released(lock, KILLED_WITHIN_S)
    raise StackError(
        f"The local stack did not stop within {deadline_s:.0f} s and was killed; its data are kept."
    )


def scale(
    settings: LocalSettings, replicas: Mapping[str, int], deadline_s: float | None = SCALED_WITHIN_S
) -> StackState:
    """Gives pools of the running stack so many replicas, and returns when they are there, healthy, and the rest gone.

    `deadline_s` None: returns at once. Raises StackError when no stack runs, it makes no sense, or it does not come
    about.
    """
    state = status(settings)
    if state is None or state.status not in (Status.HEALTHY, Status.DEGRADED):
        how = f"; the last one is {state.status}" if state else ""
        raise StackError(f"no local stack is running that could be scaled{how}")
    try:
        check_scale(replicas, state.partitions)
    except ValueError as error:
        raise StackError(str(error)) from error
    for pool, wanted in replicas.items():
        ask_for(settings.folder, pool, wanted)
    os.kill(state.supervisor_pid, ASKED)
    return state if deadline_s is None else _scaled(settings, replicas, state.scale_looks, deadline_s)


def _scaled(
    settings: LocalSettings, replicas: Mapping[str, int], looks: int, deadline_s: float
) -> StackState:
    until = time.monotonic() + deadline_s
    while time.monotonic() < until:
        state = status(settings)
        if state is None or state.status is Status.STOPPED:
            raise StackError("The local stack was stopped meanwhile.")
        if state.scale_looks > looks:
            for pool in replicas.keys() & state.scale_errors.keys():
                raise StackError(f"{pool} could not be scaled: {state.scale_errors[pool]}")
            if all(_has(state, pool, wanted) for pool, wanted in replicas.items()):
                return state
        time.sleep(LOOK_EVERY_S)
    raise StackError(
        f"The pools were not scaled within {deadline_s:.0f} s: `odradek status` says what they are at."
    )


def _has(state: StackState, pool: str, wanted: int) -> bool:
    statuses = [part.status for part in state.parts if part.pool == pool]
    return state.scale.get(pool) == wanted and statuses == [PartStatus.HEALTHY] * wanted


def status(settings: LocalSettings) -> StackState | None:
    """What is known about the stack of this data directory; None when there never was one.

    A stack whose supervisor was killed is `stopped`, with an error that says so.
    """
    lives, state = SupervisorLock(settings.folder).held, read_state(settings.folder)
    if state is None or lives or state.status in (Status.STOPPED, Status.FAILED):
        return state
    lost = f"The supervisor (pid {state.supervisor_pid}) ended without stopping the stack."
    return state.model_copy(update={"status": Status.STOPPED, "error": lost, "parts": []})


def _spawn(settings: LocalSettings, lock: SupervisorLock, descriptor: int) -> None:
    """Starts the supervisor in a session of its own, with the lock, which this process lets go."""
    forget_state(settings.folder)
    log = supervisor_log(settings.folder)
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "odradek_local.daemon", str(descriptor), settings.model_dump_json()]
    try:
        with log.open("ab") as out:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                pass_fds=[descriptor],
            )
        os.write(descriptor, str(child.pid).encode())
    finally:
        os.close(descriptor)


def _is_up(state: StackState | None, lives: bool, folder: Path) -> TypeGuard[StackState]:
    """Raises StackError when the stack can't become healthy any more."""
    if state and state.status in (Status.DEGRADED, Status.FAILED):
        raise StackError(f"The local stack is {state.status}: {state.error}")
    if not lives:
        log = supervisor_log(folder)
        raise StackError(f"The supervisor of the local stack ended. The end of its log, {log}:\n{tail(log)}")
    return state is not None and state.status is Status.HEALTHY


def _released(lock: SupervisorLock, deadline_s: float) -> bool:
    until = time.monotonic() + deadline_s
    while lock.held:
        if time.monotonic() > until:
            return False
        time.sleep(LOOK_EVERY_S)
    return True
