"""The local stack, where `odradek-local` is installed: it is an extra, imported only when it is asked for."""

from pathlib import Path
from typing import TYPE_CHECKING

from odradek_cli.errors import CliError, Exit

if TYPE_CHECKING:
    from odradek_local.settings import LocalSettings
    from odradek_local.state import StackState

SECRET_FILE = "access.secret"
INSTALL = "pip install 'odradek-cli[local]'"


def settings(**given: object) -> "LocalSettings":
    """The settings of the local stack: `given`, then the environment (`ODRADEK_...`), then the defaults.

    Raises:
        CliError: `odradek-local` is not installed, or a setting is wrong.
    """
    from pydantic import ValidationError

    from odradek_schemas.codec import explain

    try:
        from odradek_local.settings import LocalSettings
    except ImportError as error:
        raise CliError(f"the local stack is not installed: {error}", Exit.NO_STACK, INSTALL) from error
    try:
        return LocalSettings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        raise CliError(f"settings of the local stack: {explain(error)}", Exit.USAGE) from error


def access_secret_file() -> Path:
    """The secret that signs tokens for the local stack's model gateway; there after its first start."""
    return settings().folder / "keys" / SECRET_FILE


def running_stack() -> "StackState | None":
    """The local stack that runs now; None where there is none, or where it can't be installed."""
    try:
        state = stack_state()
    except CliError:
        return None
    return state if state and state.status in ("starting", "healthy", "degraded") else None


def stack_state() -> "StackState | None":
    """What is known of the local stack, running or not.

    Raises:
        CliError: `odradek-local` is not installed, or what is known can't be read.
    """
    found = settings()
    from odradek_local import supervisor
    from odradek_local.state import StackError

    try:
        return supervisor.status(found)
    except StackError as error:
        raise CliError(str(error), Exit.NO_STACK) from error
