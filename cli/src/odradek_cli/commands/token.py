"""`token`: what lets a trainer tell the model gateway which version of a policy it serves."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from odradek_cli import local
from odradek_cli.errors import CliError, Exit
from odradek_runtime.access import AccessError, Signer, TrainerAccess


def register(app: typer.Typer) -> None:
    app.command()(token)


def token(
    secret_file: Annotated[
        Path | None,
        typer.Option(
            help="The gateway's ODRADEK_ACCESS_SECRET_FILE; without it, the local stack's.", dir_okay=False
        ),
    ] = None,
    hours: Annotated[float, typer.Option(min=0.01, max=24 * 365, help="How long it is good.")] = 24.0,
) -> None:
    """Print a token with which a trainer may `PUT /v1/policy` at the model gateway.

    Example: `odradek token --hours 12`
    """
    path = secret_file or local.access_secret_file()
    try:
        signer = Signer.from_file(path)
    except AccessError as error:
        next_step = "odradek up makes one for the local stack" if secret_file is None else None
        raise CliError(str(error), Exit.SOMETHING_MISSING, next_step) from error
    print(signer.sign(TrainerAccess(expires=datetime.now(UTC) + timedelta(hours=hours))))
