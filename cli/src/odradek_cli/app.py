"""The `odradek` command: what it is made of."""

import logging
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from odradek_cli.commands import (
    audit,
    autoscale,
    blobs,
    catalog,
    compare,
    doctor,
    env,
    export,
    import_,
    keys,
    rescore,
    results,
    run,
    runs,
    serve,
    stack,
    status,
    token,
    topics,
    watch,
)
from odradek_cli.errors import CliError, Exit, as_cli_error


class Commands(TyperGroup):
    """Turns errors into one line, the next step, and an exit code. What is not known is a bug and keeps its trace."""

    def invoke(self, ctx: Any) -> Any:
        # The client logs each refused connection; what matters is raised.
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            raise typer.Exit(Exit.INTERRUPTED) from None
        except Exception as error:
            known = as_cli_error(error)
            if known is None:
                raise
            _tell(known)
            raise typer.Exit(known.code) from None


def _tell(error: CliError) -> None:
    print(f"error: {error}", file=sys.stderr)
    if error.next_step:
        print(f"  next: {error.next_step}", file=sys.stderr)


app = typer.Typer(
    name="odradek",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="LLM-agent rollouts as events on Apache Kafka.\n\n"
    "Start here: `odradek up`, `odradek run mcqa --samples 4 --model smollm2`, `odradek results`, `odradek down`.",
    epilog="Exit codes: 0 ok, 2 usage, 3 no stack or no answer, 4 invalid input, 5 the run failed or was cancelled, "
    "6 something is missing, 7 the audit refuted the run, 8 the audited run has not ended, 130 interrupted.",
)
stack.register(app)
autoscale.register(app)
status.register(app)
run.register(app)
watch.register(app)
runs.register(app)
results.register(app)
rescore.register(app)
compare.register(app)
audit.register(app)
export.register(app)
import_.register(app)
catalog.register(app)
keys.register(app)
token.register(app)
serve.register(app)
env.register(app)
topics.register(app)
blobs.register(app)
doctor.register(app)
