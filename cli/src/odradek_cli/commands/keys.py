"""`keys`: the keys and the secret of a deployment, made once."""

from pathlib import Path
from typing import Annotated

import typer

from odradek_cli.errors import CliError, Exit
from odradek_cli.output import say
from odradek_runtime.access import create_secret
from odradek_runtime.sealing import create_keys


def register(app: typer.Typer) -> None:
    app.command()(keys)


def keys(
    public_key: Annotated[Path, typer.Option(help="Seals answers: for the task-producer and env-workers.")],
    private_key: Annotated[Path, typer.Option(help="Opens them: for verifier- and env-workers alone.")],
    access_secret: Annotated[Path, typer.Option(help="Signs tokens: for env-workers and the model gateway.")],
) -> None:
    """Make the sealing keys and the access secret of a deployment, each in a file that its owner alone can read.

    What is there stays: answers that were sealed with a key could not be opened with another.

    Example: `odradek keys --public-key k/sealing_public_key --private-key k/sealing_private_key --access-secret k/access_secret`
    """
    _check_apart(public_key, private_key, access_secret)
    try:
        made = [*create_keys(public_key, private_key), *_make_secret(access_secret)]
    except OSError as error:
        raise CliError(
            f"{error.filename}: {error.strerror}",
            Exit.INVALID_INPUT,
            "name files in folders that can be written to",
        ) from error
    for path in made:
        say(f"made {path}")
    if not made:
        say("all keys are there; none was changed")


def _check_apart(*paths: Path) -> None:
    if len({path.resolve() for path in paths}) < len(paths):
        raise CliError("two of the keys would be the same file", Exit.USAGE, "name three files")


def _make_secret(path: Path) -> list[Path]:
    if path.is_file() and path.stat().st_size:
        return []
    create_secret(path)
    return [path]
