"""`export`: a run's rollouts as a file that other programs read."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from odradek.formats import Format
from odradek.formats.parquet import PyarrowMissing
from odradek_cli.commands.options import Json
from odradek_cli.deployment import Deployment, find_deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.exporting import Exported, Wanted, export
from odradek_cli.kafka import open_log
from odradek_cli.output import err, note, print_json, say
from odradek_cli.render import warn_unreadable
from odradek_cli.runs import load_run
from odradek_schemas.events.results import PRIMARY_SCORING

EXPORT_SECONDS = 3600.0


def register(app: typer.Typer) -> None:
    app.command("export")(export_run)


def export_run(
    run_id: Annotated[str, typer.Argument(metavar="RUN")],
    output: Annotated[Path, typer.Option(help="The file to write, or the folder of --format hf.")],
    format: Annotated[Format, typer.Option(help="What to write it in.")] = Format.ODRADEK,
    scoring: Annotated[
        str, typer.Option(help="Whose rewards: `primary`, `recorded`, or a re-score's id.")
    ] = PRIMARY_SCORING,
    min_reward: Annotated[
        float | None, typer.Option(help="Only rollouts with this reward at least; masked ones have none.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=1, help="Seconds to read the log for, at most.")
    ] = EXPORT_SECONDS,
    json: Json = False,
) -> None:
    """Write a run's rollouts to a file: one rollout a line or row, with its rewards.

    A name that ends in `.zst` is compressed with Zstandard. Chat examples (`sft`) are of scored rollouts alone.

    Examples: `odradek export RUN --output run.jsonl.zst`, `odradek export RUN --format sft --min-reward 1 --output good.jsonl`
    """
    wanted = Wanted(scoring, min_reward, scored=format is Format.SFT)
    exported = asyncio.run(_export(find_deployment(), run_id, output, format, wanted, timeout))
    if json:
        print_json({"path": str(output), **vars(exported)})
        return
    say(f"{output}: {exported.rollouts} rollouts in {exported.rows} rows")
    if exported.left_out:
        note(
            f"{exported.left_out} rollouts were left out: their {scoring} reward is too low, masked or missing"
        )


async def _export(
    deployment: Deployment, run_id: str, output: Path, format: Format, wanted: Wanted, within: float
) -> Exported:
    try:
        async with asyncio.timeout(within), open_log(deployment) as log:
            exported = await export(log, await load_run(log, run_id), output, format, wanted)
            warn_unreadable(err(), log.unreadable)
            return exported
    except TimeoutError as error:
        raise CliError(
            f"exporting took longer than {within:g} s", Exit.NO_STACK, "raise --timeout"
        ) from error
    except FileExistsError as error:
        raise CliError(str(error), Exit.INVALID_INPUT, "name another --output, or remove it first") from error
    except PyarrowMissing as error:
        raise CliError(str(error), Exit.SOMETHING_MISSING) from error
    except OSError as error:
        raise CliError(f"{output}: {error.strerror or error}", Exit.INVALID_INPUT) from error
