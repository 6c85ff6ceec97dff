"""`list`, `validate`: what is installed, and whether it and its data sets are in order. Needs no stack."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from odradek.environment import Environment
from odradek.models import ConfigError, read_config
from odradek.plugins import PluginError, environment_names, harness_names, load_environment, load_harness
from odradek.programs import ProgramError, find_program, is_manifest, program_names, read_program
from odradek_cli.assignments import read_assignments
from odradek_cli.checks import EnvironmentReport, check_environment, fitting
from odradek_cli.commands.options import Json
from odradek_cli.datasets import Checked, check_rows, read_file
from odradek_cli.deployment import try_deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.output import out, print_json, say
from odradek_cli.render import bad_rows_text, listing
from odradek_schemas.base import JsonObject


def register(app: typer.Typer) -> None:
    app.command("list")(list_plugins)
    app.command()(validate)


def list_plugins(json: Json = False) -> None:
    """List the environments, harnesses and agent programs that are known, and the models of the stack, if one runs.

    Example: `odradek list`
    """
    deployment = try_deployment()
    models = list(deployment.models or ()) if deployment else None
    environments = [_about_environment(name) for name in environment_names()]
    harnesses = [_about_harness(name) for name in harness_names()]
    programs = [_about_program(name) for name in program_names()]
    if json:
        print_json(
            {"environments": environments, "harnesses": harnesses, "programs": programs, "models": models}
        )
        return
    console = out()
    table = listing("ENVIRONMENT", "HARNESS", "TOOLS", "EXAMPLES", "ABOUT")
    for about in environments:
        table.add_row(*(Text(str(value)) for name, value in about.items() if name != "settings"))
    console.print(table)
    table = listing("HARNESS", "ABOUT")
    for about in harnesses:
        table.add_row(*(Text(str(value)) for value in about.values()))
    console.print("", table, "", sep="\n")
    table = listing("PROGRAM", "TESTED", "DIALECT", "ABOUT")
    for about in programs:
        table.add_row(*(Text(str(value)) for value in about.values()))
    console.print(table, "", sep="\n")
    if models is None:
        say("models: no stack is running; `odradek up` starts one")
    else:
        say(f"models: {', '.join(models) or 'not known here'}")


def validate(
    target: Annotated[
        str,
        typer.Argument(
            metavar="ENV|FILE",
            help="An environment's name, a JSONL file, an odradek.toml, or a program's manifest.",
        ),
    ],
    environment: Annotated[
        str | None,
        typer.Option(help="The environment whose tasks the file holds; else all installed ones are tried."),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the environment.")
    ] = None,
    json: Json = False,
) -> None:
    """Check an environment with its examples, a data set row by row, models, or an agent program's manifest. Exit code 4 when something is wrong.

    Examples: `odradek validate mcqa`, `odradek validate tasks.jsonl --environment mcqa`, `odradek validate odradek.toml`
    """
    settings = read_assignments(set_ or [])
    if settings and environment is None and target not in environment_names():
        raise CliError("--set needs the --environment whose setting it is", Exit.USAGE)
    if target in environment_names():
        _validate_environment(load_environment(target, settings), json)
    elif Path(target).suffix == ".toml" and is_manifest(Path(target)):
        _validate_program(Path(target), json)
    elif Path(target).suffix == ".toml":
        _validate_models(Path(target), json)
    elif Path(target).is_file():
        _validate_file(Path(target), environment, settings, json)
    else:
        raise CliError(
            f"{target!r} is neither an installed environment nor a file",
            Exit.INVALID_INPUT,
            f"environments here: {', '.join(environment_names()) or 'none'}",
        )


def _validate_models(path: Path, json: bool) -> None:
    try:
        models = read_config(path, os.environ)
    except ConfigError as error:
        raise _unusable(path, error, "docs/models.md", json) from error
    if json:
        print_json({"file": str(path), "problems": [], "models": sorted(models)})
        return
    for name, model in models.items():
        say(
            f"{name}: {model.model} of {', '.join(replica.url for replica in model.base_url)}, asked as {model.kind}"
        )


def _validate_program(path: Path, json: bool) -> None:
    try:
        program = read_program(path)
    except ProgramError as error:
        raise _unusable(path, error, "docs/harnesses.md", json) from error
    if json:
        print_json({"file": str(path), "problems": [], "program": program.name})
        return
    say(f"{program.name}: {program.url or program.command[0]}, asks in the dialect {program.dialect}")


def _unusable(path: Path, error: Exception, page: str, json: bool) -> CliError | typer.Exit:
    if not json:
        return CliError(str(error), Exit.INVALID_INPUT, f"{page} shows what the file may say")
    print_json({"file": str(path), "problems": str(error).splitlines()})
    return typer.Exit(Exit.INVALID_INPUT)


def _validate_environment(environment: Environment, json: bool) -> None:
    report = check_environment(environment)
    if json:
        print_json(asdict(report) | {"ok": report.ok})
    else:
        _print_report(report)
        say(f"  settings: {', '.join(environment.Settings.model_fields) or 'none'}")
    if not report.ok:
        raise typer.Exit(Exit.INVALID_INPUT)


def _print_report(report: EnvironmentReport) -> None:
    verdict = "is in order" if report.ok else "has problems"
    say(f"{report.name} {verdict}: {report.examples} examples, {report.tools} tools")
    for problem in report.problems:
        say(f"  {problem}")


def _validate_file(path: Path, name: str | None, settings: JsonObject, json: bool) -> None:
    content = read_file(path)
    names = [name] if name else environment_names()
    found = {name: check_rows(load_environment(name, settings), content) for name in names}
    good = fitting(found)
    if json:
        print_json({"file": str(path), "fits": good, "environments": _checked_json(found)})
    elif good:
        rows = found[good[0]].rows
        say(f"{path}: {rows} rows, all fit {', '.join(good)}")
    if good:
        return
    if json:
        raise typer.Exit(Exit.INVALID_INPUT)
    raise _misfit(path, found)


def _misfit(path: Path, found: dict[str, Checked]) -> CliError:
    """Tell of the environment that takes most of the rows."""
    if not found:
        return CliError("no environment is installed", Exit.INVALID_INPUT, "pip install odradek-mcqa, say")
    name, checked = min(found.items(), key=lambda item: len(item[1].bad))
    if not checked.rows:
        return CliError(f"{path} holds no rows", Exit.INVALID_INPUT)
    others = "" if len(found) == 1 else " (of all installed environments it is the one that fits best)"
    return CliError(
        f"{len(checked.bad)} of {checked.rows} rows of {path} do not fit {name}{others}\n"
        + bad_rows_text(checked.bad, path.name),
        Exit.INVALID_INPUT,
        "the environment's README says what a row holds",
    )


def _checked_json(found: dict[str, Checked]) -> dict[str, Any]:
    return {
        name: {"rows": checked.rows, "bad": [row.model_dump() for row in checked.bad]}
        for name, checked in found.items()
    }


def _about_environment(name: str) -> dict[str, Any]:
    try:
        found = load_environment(name)
        examples = check_rows(found, read_file(found.examples())).rows
    except (PluginError, CliError) as error:
        return {
            "name": name,
            "harness": "-",
            "tools": "-",
            "examples": "-",
            "settings": [],
            "about": f"does not load: {error}",
        }
    return {
        "name": name,
        "harness": found.harness,
        "tools": len(found.tools()),
        "examples": examples,
        "settings": list(found.Settings.model_fields),
        "about": _first_line(found),
    }


def _about_harness(name: str) -> dict[str, Any]:
    try:
        return {"name": name, "about": _first_line(load_harness(name))}
    except PluginError as error:
        return {"name": name, "about": f"does not load: {error}"}


def _about_program(name: str) -> dict[str, Any]:
    try:
        program = find_program(name)
    except ProgramError as error:
        return {"name": name, "tested": "-", "dialect": "-", "about": f"can't be used: {error}"}
    return {
        "name": name,
        "tested": program.tested or "-",
        "dialect": program.dialect,
        "about": program.about,
    }


def _first_line(plugin: object) -> str:
    lines = (type(plugin).__doc__ or "").strip().splitlines()
    return lines[0] if lines else ""
