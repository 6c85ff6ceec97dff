"""Options that many commands have."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Timeout = Annotated[float, typer.Option(min=1, help="Seconds to read the log for, at most.")]
