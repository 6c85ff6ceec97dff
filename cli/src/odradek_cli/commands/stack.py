"""`up`, `scale`, `down`: the local stack."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from odradek_cli import local
from odradek_cli.commands.options import Json
from odradek_cli.commands.status import stack_view
from odradek_cli.errors import CliError, Exit
from odradek_cli.models import configured_models, parse_model
from odradek_cli.output import err, out, print_json, say
from odradek_runtime.bounds import MOST_PARTITIONS

if TYPE_CHECKING:
    from odradek_local.state import StackState


def register(app: typer.Typer) -> None:
    app.command()(up)
    app.command()(scale)
    app.command()(down)


def up(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME=URL",
            help="A model behind an OpenAI-compatible API; may be given many times. After the URL: `,model=ID` (its "
            "name there), `,key=VARIABLE` (the environment variable that holds its key), `,tool_calls=json_schema` "
            "(for a model without native tool calls), `,preset=PROVIDER`.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="Models in TOML; `odradek.toml` here, if there is one."
        ),
    ] = None,
    local_model: Annotated[bool, typer.Option(help="Run the small local model, `smollm2`.")] = True,
    partitions: Annotated[
        int | None, typer.Option(min=1, max=MOST_PARTITIONS, help="Partitions of new topics.")
    ] = None,
    replicas: Annotated[
        list[str] | None,
        typer.Option(
            "--scale", metavar="POOL=N", help="Start N replicas of a service; may be given many times."
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait until all is healthy.")] = 180.0,
    json: Json = False,
) -> None:
    """Start the local stack: Kafka, a small model, the five services. Returns when all are healthy.

    Data and logs are kept in `~/.local/share/odradek`, or where `ODRADEK_DATA_DIR` says.

    Example: `odradek up --model gpt=https://api.openai.com/v1,preset=openai,model=gpt-5-mini`
    """
    wanted = parse_scale(replicas or [])
    upstreams = configured_models(config) | dict(parse_model(text) for text in model or [])
    settings = local.settings(
        models=upstreams or None,
        local_model=None if local_model else False,
        partitions=partitions,
        scale=wanted or None,
    )
    from odradek_local import supervisor
    from odradek_local.state import StackError

    try:
        with err().status("starting") as spinner:
            state = supervisor.up(settings, lambda now: spinner.update(_starting(now)), timeout)
            if state.scale | wanted != state.scale:  # it was up already
                state = supervisor.scale(settings, wanted, timeout)
    except StackError as error:
        raise CliError(str(error), Exit.NO_STACK, "`odradek doctor` says what is missing") from error
    _require_models(state, list(upstreams))
    _show(state, json)


def scale(
    replicas: Annotated[list[str], typer.Argument(metavar="POOL=N...", help="Such as `agent-worker=3`.")],
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait until it is so.")] = 120.0,
    json: Json = False,
) -> None:
    """Give pools of the running local stack more workers, or fewer; those that go finish what they have begun.

    Example: `odradek scale agent-worker=3 env-worker=2`
    """
    wanted, settings = parse_scale(replicas), local.settings()
    from odradek_local import supervisor
    from odradek_local.state import StackError

    try:
        with err().status("scaling"):
            state = supervisor.scale(settings, wanted, timeout)
    except StackError as error:
        raise CliError(str(error), Exit.NO_STACK, "`odradek status` says how the stack is") from error
    _show(state, json)


def parse_scale(texts: Iterable[str]) -> dict[str, int]:
    """Read `POOL=N`.

    Raises:
        CliError: it is not of this form.
    """
    wanted = {}
    for text in texts:
        pool, _, number = text.partition("=")
        if not pool or not (number.isascii() and number.isdecimal()):
            raise CliError(f"{text!r} is not POOL=N, such as agent-worker=3", Exit.USAGE)
        wanted[pool] = int(number)
    return wanted


def down(
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to let it stop in order.")] = 60.0,
) -> None:
    """Stop the local stack. Its data are kept; runs under way go on at the next `odradek up`.

    Example: `odradek down`
    """
    settings = local.settings()
    from odradek_local import supervisor
    from odradek_local.state import StackError

    try:
        stopped = supervisor.down(settings, timeout)
    except StackError as error:
        raise CliError(str(error), Exit.ERROR) from error
    say("stopped" if stopped else "no stack was running")


def _require_models(state: "StackState", asked: list[str]) -> None:
    missing = [name for name in asked if name not in state.models]
    if missing:
        raise CliError(
            f"the stack was running already, without the model {', '.join(missing)}",
            Exit.USAGE,
            "`odradek down`, then the same command again",
        )


def _starting(state: "StackState") -> str:
    waiting = [part.name for part in state.parts if part.status != "healthy"]
    return f"starting: {', '.join(waiting)}" if waiting else "starting"


def _show(state: "StackState", json: bool) -> None:
    if json:
        print_json(state.model_dump(mode="json"))
        return
    out().print(*stack_view(state), sep="\n")
