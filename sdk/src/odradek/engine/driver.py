"""Driving a harness by hand: its coroutine runs from one await of the rollout to the next.

While it runs there is no asyncio: a harness sees the same world in a worker as in a test, and can't touch the loop
that the worker runs on.
"""

import asyncio
import traceback
from asyncio.events import _get_running_loop, _set_running_loop
from collections.abc import Coroutine
from inspect import iscoroutine
from typing import Any

from odradek.harness import AskModel, CallTools, Effect, Harness, Rollout, RunProgram, Sleep
from odradek_schemas.failures import Failure, FailureKind, Stage

Run = Coroutine[Any, Any, None]

LONGEST_MESSAGE = 500
"""Characters of an exception's text that are kept."""

_EFFECTS = (AskModel, CallTools, RunProgram, Sleep)
_RAISED = (Exception, SystemExit, asyncio.CancelledError, GeneratorExit)
"""All that a harness can raise and a worker survives; an interrupt from the keyboard is the worker's."""

_ONLY = "a harness may only await the rollout's own methods (model, act, program, sleep), not asyncio or other libraries"


def start(harness: Harness, rollout: Rollout) -> Run | Failure:
    """The coroutine of one attempt, not yet stepped."""
    try:
        run: object = harness.run(rollout)
    except _RAISED as error:
        return harness_error(error)
    if not iscoroutine(run):
        return _failure(f"{type(harness).__name__}.run must be `async def`; it returned {run!r:.100}")
    return run


def step(run: Run, value: object) -> Effect | Failure | None:
    """Run the harness with the result it waits for, up to its next await. None: it returned."""
    loop = _get_running_loop()
    _set_running_loop(None)
    try:
        effect = run.send(value)
    except StopIteration:
        return None
    except _RAISED as error:
        return harness_error(error)
    finally:
        _set_running_loop(loop)
    if not isinstance(effect, _EFFECTS):
        close(run)
        return _failure(f"{_ONLY}; it awaited {effect!r:.100}")
    return effect


def close(run: Run) -> Failure | None:
    """Drop a harness at its await. A failure: it raised, or would not go."""
    loop = _get_running_loop()
    _set_running_loop(None)
    try:
        run.close()
    except _RAISED as error:
        return harness_error(error)
    finally:
        _set_running_loop(loop)
    return None


def harness_error(error: BaseException) -> Failure:
    """What a harness raised, in one line: the last of its traceback, and where."""
    if isinstance(error, RuntimeError) and "no running event loop" in str(error):
        return _failure(f"{_ONLY}; {_line(error)}")
    return _failure(_line(error))


def _line(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    text = " ".join(traceback.format_exception_only(error)[-1].split())
    return text[:LONGEST_MESSAGE] + where


def _failure(message: str) -> Failure:
    return Failure(kind=FailureKind.HARNESS_ERROR, stage=Stage.HARNESS, message=message)
