"""How a command ends: exit codes, and errors of one clear line with the next step."""

from enum import IntEnum

from aiokafka.errors import KafkaError

from odradek.plugins import PluginError
from odradek_runtime.blobs import BadBlobStoreUri, BlobError, StoreUnavailable
from odradek_runtime.sealing import SealError
from odradek_runtime.topics import TopicError
from odradek_scoring import PoolError


class Exit(IntEnum):
    """The exit codes of every command."""

    OK = 0
    ERROR = 1
    USAGE = 2
    NO_STACK = 3
    INVALID_INPUT = 4
    RUN_FAILED = 5
    SOMETHING_MISSING = 6
    REFUTED = 7
    UNFINISHED = 8
    INTERRUPTED = 130


class CliError(Exception):
    """Ends the command: one line on stderr, the next step below it, and the exit code."""

    def __init__(self, message: str, code: Exit, next_step: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.next_step = next_step


_KNOWN: tuple[tuple[type[Exception], Exit], ...] = (
    (PluginError, Exit.INVALID_INPUT),
    (SealError, Exit.INVALID_INPUT),
    (PoolError, Exit.ERROR),
    (BadBlobStoreUri, Exit.USAGE),
    (BlobError, Exit.NO_STACK),
    (StoreUnavailable, Exit.NO_STACK),
    (TopicError, Exit.NO_STACK),
    (KafkaError, Exit.NO_STACK),
)


def as_cli_error(error: Exception) -> CliError | None:
    """The error as a user is told of it; None when it is a bug of ours."""
    if isinstance(error, CliError):
        return error
    code = next((code for kind, code in _KNOWN if isinstance(error, kind)), None)
    return None if code is None else CliError(str(error) or type(error).__name__, code)
