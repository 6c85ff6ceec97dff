"""Harnesses by name, or why one can't be had."""

import faulthandler
from functools import lru_cache

from odradek.harness import Harness
from odradek.plugins import PluginError, harness_names, load_harness
from odradek_schemas.failures import Failure, FailureKind, Stage

LOAD_SECONDS = 60.0
"""Deadline of loading all installed harnesses."""


def load_harnesses(seconds: float = LOAD_SECONDS) -> None:
    """Load what is installed before the event loop runs, which an import that takes long would hold up.

    One that hangs ends the process, and says where.
    """
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        for name in harness_names():
            find_harness(name)
    finally:
        faulthandler.cancel_dump_traceback_later()


@lru_cache(maxsize=256)
def find_harness(name: str) -> Harness | Failure:
    """The harness called `name`; a failure where no installed package brings a working one."""
    try:
        return load_harness(name)
    except PluginError as error:
        return Failure(kind=FailureKind.UNKNOWN_HARNESS, stage=Stage.HARNESS, message=str(error))
