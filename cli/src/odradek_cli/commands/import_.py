"""`import`: rollouts that were recorded elsewhere, put into the log to be scored here."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from odradek.environment import Environment
from odradek.formats import BadRecord, Format, Record
from odradek.formats.parquet import PyarrowMissing
from odradek.formats.worlds import Seal, needs_world, rebuild
from odradek.plugins import load_environment
from odradek_cli.adoption import Adopted, adopt
from odradek_cli.assignments import read_assignments
from odradek_cli.commands.options import Json
from odradek_cli.deployment import Deployment, find_deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.importing import Origin, Survey, adopted, digest_of, placed, survey
from odradek_cli.kafka import open_log
from odradek_cli.output import note, print_json, say
from odradek_cli.render import bad_rows_text
from odradek_cli.run_ids import new_run_id
from odradek_cli.sealing import find_sealer
from odradek_cli.task_files import read_tasks
from odradek_schemas.events import Dataset, RunImported
from odradek_schemas.ids import check_run_id

IMPORT_SECONDS = 3600.0


def register(app: typer.Typer) -> None:
    app.command("import")(import_file)


def import_file(
    file: Annotated[Path, typer.Argument(help="What was recorded: JSONL, plain or .zst; Parquet of ours.")],
    format: Annotated[
        Format | None, typer.Option(help="What the file is in; else each row is looked at.")
    ] = None,
    environment: Annotated[
        str | None, typer.Option(help="Whose rollouts they are; rows of Odradek's own say it themselves.")
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the environment.")
    ] = None,
    tasks: Annotated[
        Path | None, typer.Option(help="The data set with the tasks, where the rollouts' rows lack them.")
    ] = None,
    run_id: Annotated[str | None, typer.Option(help="The id of the run to make of it.")] = None,
    skip_bad: Annotated[bool, typer.Option(help="Leave out rows that can't be used.")] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for all of it, at most.")] = IMPORT_SECONDS,
    json: Json = False,
) -> None:
    """Put recorded rollouts into the log as a run: they are scored here, and keep the rewards that they came with.

    Nothing is written unless every row is good. The same file under the same --run-id is written once, however often.

    Example: `odradek import rollouts.jsonl --format nemo-gym --environment mcqa --tasks tasks.jsonl`
    """
    plugin = load_environment(environment, read_assignments(assignments or ())) if environment else None
    origin = Origin(file, format, plugin, read_tasks(tasks, plugin))
    seal = find_sealer().seal
    found = _checked(origin, skip_bad)
    owner = plugin or load_environment(next(iter(found.environments)))
    run = _run(origin, found, owner, run_id)
    worlds = _Worlds(owner, seal)
    records = (
        adopted(record, run.run_id, place, found.sizes[place[0]], seal)
        for record, place in placed(origin, found)
    )
    result = asyncio.run(_adopt(find_deployment(), run, records, worlds, timeout))
    _tell(run, found, result, worlds, json)


@dataclass
class _Worlds:
    """Builds again what sessions of ours would have left, and counts how that went."""

    environment: Environment
    seal: Seal
    rebuilt: int = 0
    different: int = 0
    problem: str | None = None

    async def furnish(self, record: Record) -> Record:
        if not needs_world(self.environment, record.trajectory):
            return record
        done = await rebuild(self.environment, record, self.seal)
        self.rebuilt += done.problem is None
        self.different += done.different
        self.problem = self.problem or done.problem
        return done.record


def _checked(origin: Origin, skip_bad: bool) -> Survey:
    """The file, looked at whole. Raises CliError: it can't be read, or holds what can't be imported."""
    path = origin.path
    try:
        found = survey(origin)
    except OSError as error:
        raise CliError(f"{path}: {error.strerror or error}", Exit.INVALID_INPUT) from error
    except PyarrowMissing as error:
        raise CliError(str(error), Exit.SOMETHING_MISSING) from error
    except BadRecord as error:
        raise CliError(f"{path.name}: {error}", Exit.INVALID_INPUT) from error
    if found.bad_count and not skip_bad:
        raise CliError(
            f"{found.bad_count} rows of {path} can't be imported\n" + bad_rows_text(found.bad, path.name),
            Exit.INVALID_INPUT,
            "mend them, or leave them out with --skip-bad; nothing was imported",
        )
    if not found.places:
        raise CliError(f"{path} holds no rollouts", Exit.INVALID_INPUT)
    if len(found.environments) > 1:
        names = ", ".join(sorted(found.environments))
        raise CliError(
            f"{path} holds rollouts of several environments: {names}",
            Exit.INVALID_INPUT,
            "name one with --environment, and leave the others out with --skip-bad",
        )
    return found


def _run(origin: Origin, found: Survey, environment: Environment, run_id: str | None) -> RunImported:
    try:
        name = check_run_id(run_id) if run_id else new_run_id(environment.name, datetime.now().astimezone())
    except ValueError as error:
        raise CliError(str(error), Exit.INVALID_INPUT) from error
    path = origin.path.absolute()
    return RunImported(
        id=name,
        run_id=name,
        time=datetime.now(UTC),
        environment=environment.name,
        dataset=Dataset(uri=path.as_uri(), name=path.name),
        format=str(origin.format or "as found"),
        digest=digest_of(path),
        model=", ".join(sorted(found.models)),
        samples=found.samples,
        rollouts=len(found.places),
        settings=environment.settings.model_dump(mode="json", exclude_unset=True),
    )


async def _adopt(
    deployment: Deployment, run: RunImported, records: Iterator[Record], worlds: _Worlds, within: float
) -> Adopted:
    try:
        async with asyncio.timeout(within), open_log(deployment) as log:
            return await adopt(log, run, records, worlds.furnish)
    except TimeoutError as error:
        raise CliError(
            f"importing took longer than {within:g} s",
            Exit.NO_STACK,
            f"go on with the same file and --run-id {run.run_id}, and raise --timeout",
        ) from error


def _tell(run: RunImported, found: Survey, result: Adopted, worlds: _Worlds, json: bool) -> None:
    if json:
        print_json(
            {
                "run_id": run.run_id,
                "rollouts": run.rollouts,
                "written": result.written,
                "present": result.present,
                "skipped": found.bad_count,
                "without_reward": found.unrewarded,
                "worlds_rebuilt": worlds.rebuilt,
                "tool_outputs_that_differ": worlds.different,
                "without_evidence": worlds.problem,
            }
        )
        return
    say(f"{run.run_id}: {result.written} of {run.rollouts} rollouts of {run.environment} imported")
    if result.present:
        note(f"{result.present} were there already, and stay as they are")
    if found.bad_count:
        note(f"{found.bad_count} rows were left out\n{bad_rows_text(found.bad, run.dataset.name)}")
    if worlds.rebuilt:
        note(
            f"{worlds.rebuilt} sessions were built again for their evidence: {worlds.different} tool outputs differ "
            "from the recorded ones"
        )
    if worlds.problem:
        note(f"not every rollout has evidence: {worlds.problem}")
    note(f"they are scored now: `odradek results {run.run_id}`, `odradek show {run.run_id}/0/0`")
