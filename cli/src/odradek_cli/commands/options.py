"""Options that many commands have."""

from pathlib import Path
from typing import Annotated

import typer

from odradek.metrics import Missing

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Timeout = Annotated[float, typer.Option(min=1, help="Seconds to read the log for, at most.")]
Html = Annotated[
    Path | None, typer.Option("--html", help="Write a page with plots there, too: one file, loads nothing.")
]
MissingPolicy = Annotated[
    Missing,
    typer.Option("--missing", help="What planned rollouts without a score count: left out, or 0 and failed."),
]
Threshold = Annotated[float, typer.Option(help="The score from which on a rollout passes.")]
