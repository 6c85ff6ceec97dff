"""The tasks of rollouts whose own rows lack them."""

from pathlib import Path

from odradek.environment import Environment
from odradek.formats import BadRecord
from odradek.formats.foreign import Tasks
from odradek.formats.lines import read_lines
from odradek.rows import RowError
from odradek_cli.errors import CliError, Exit


def read_tasks(path: Path | None, environment: Environment | None) -> Tasks | None:
    """Read a data set with `environment`; None for no file.

    Raises:
        CliError: the file or a row can't be used, or there is no environment to read it with.
    """
    if path is None:
        return None
    if environment is None:
        raise CliError("--tasks needs the --environment whose they are", Exit.USAGE)
    try:
        rows = []
        for line, row in read_lines(path):
            if isinstance(row, BadRecord):
                raise CliError(f"{path.name}:{line}: {row.reason}", Exit.INVALID_INPUT)
            rows.append(row)
        return Tasks.of(environment, rows)
    except OSError as error:
        raise CliError(f"data set {path}: {error.strerror}", Exit.INVALID_INPUT) from error
    except RowError as error:
        raise CliError(
            f"data set {path}: {error}", Exit.INVALID_INPUT, f"`odradek validate {path}` names each bad row"
        ) from error
