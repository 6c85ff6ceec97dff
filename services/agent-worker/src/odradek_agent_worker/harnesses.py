"""Harnesses by name, or why one can't be had."""

from functools import lru_cache

from odradek.harness import Harness
from odradek.plugins import PluginError, load_harness
from odradek_schemas.failures import Failure, FailureKind, Stage


@lru_cache(maxsize=256)
def find_harness(name: str) -> Harness | Failure:
    """The harness called `name`; a failure where no installed package brings a working one."""
    try:
        return load_harness(name)
    except PluginError as error:
        return Failure(kind=FailureKind.UNKNOWN_HARNESS, stage=Stage.HARNESS, message=str(error))
