"""Libraries that only some verifiers need: imported when they are first used, so that other workers don't pay for them."""

from importlib import import_module
from typing import Any


class MissingLibrary(ImportError):
    """A building block needs a library that is not installed."""


def needed(module: str, extra: str) -> Any:
    """The module `module`, which the extra `odradek[extra]` brings.

    Raises:
        MissingLibrary: it is not installed; says what to install.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingLibrary(f"{error}; install 'odradek[{extra}]'") from error
