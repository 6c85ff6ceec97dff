"""`rescore`, `rewards`: trajectories scored again, and all the scores that one ever had."""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from odradek.formats import BadRecord, Format
from odradek.plugins import load_environment
from odradek.verification import verifier_identity
from odradek_cli.assignments import read_assignments
from odradek_cli.commands.options import Json, Timeout
from odradek_cli.deployment import Deployment, find_deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import SCAN_SECONDS, Log, open_log
from odradek_cli.moments import read_moment
from odradek_cli.output import err, note, out, print_json
from odradek_cli.render import warn_unreadable
from odradek_cli.rescore_diff import RescoreDiff, Score, as_json, diff
from odradek_cli.rescore_files import Origin, rescore_file
from odradek_cli.rescore_view import diff_view, rewards_view
from odradek_cli.rescores import CLOCK_SKEW, Wish, follow, plan, planned, ranges, scores_before, spans
from odradek_cli.run_ids import new_run_id
from odradek_cli.runs import load_run
from odradek_cli.sealing import find_private_key
from odradek_cli.task_files import read_tasks
from odradek_schemas.base import JsonObject
from odradek_schemas.events import RescoreRequested, RewardAssigned
from odradek_schemas.events.results import RESERVED_SCORINGS
from odradek_schemas.ids import check_run_id, run_of
from odradek_schemas.topics import REWARDS
from odradek_scoring import Scoring

PATIENCE_SECONDS = 300.0


def register(app: typer.Typer) -> None:
    app.command()(rescore)
    app.command()(rewards)


def rescore(
    run_id: Annotated[str | None, typer.Option("--run", help="The trajectories of this run.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Those written from then on: 2026-11-30T12:00, or 90m, 2h, 7d ago.")
    ] = None,
    environment: Annotated[str | None, typer.Option(help="Those of this environment.")] = None,
    verifier: Annotated[
        str | None, typer.Option(help="Score with this environment's verifier instead of their own.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting, over those that were recorded."),
    ] = None,
    id_: Annotated[
        str | None, typer.Option("--id", help="A name for the re-score; the same again looks on.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would be done; write nothing.")
    ] = False,
    file: Annotated[
        Path | None, typer.Option(help="Score the rollouts of a file instead, without Kafka.")
    ] = None,
    format_: Annotated[Format | None, typer.Option("--format", help="What the file is in.")] = None,
    tasks: Annotated[
        Path | None, typer.Option(help="With --file: the data set with the tasks, where its rows lack them.")
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(help="With --file: the private key that opens sealed answers; else the local stack's."),
    ] = None,
    patience: Annotated[
        float, typer.Option(min=1, help="Give up looking on after so many seconds without news.")
    ] = PATIENCE_SECONDS,
    timeout: Timeout = SCAN_SECONDS,
    json: Json = False,
) -> None:
    """Score trajectories again with the verifiers as they are now, and show what changed.

    The new rewards lie beside the old ones, under the re-score's id: nobody sees them who does not ask for them.

    Example: `odradek rescore --run mcqa-1129-194512-x7`
    """
    settings = read_assignments(set_ or [])
    if file is not None:
        _refuse_with_file({"--run": run_id, "--since": since, "--id": id_, "--dry-run": dry_run})
        if verifier is not None:
            load_environment(verifier, settings)
        plugin = load_environment(environment, settings) if environment else None
        origin = Origin(file, format_, plugin, read_tasks(tasks, plugin), key or find_private_key())
        difference = _of_file(origin, Scoring("file", verifier, settings))
    else:
        wish = asyncio.run(_wish(run_id, since, environment, verifier, settings, id_, timeout))
        if dry_run:
            asyncio.run(_tell_plan(find_deployment(), wish, timeout, json))
            return
        difference = asyncio.run(_on_log(find_deployment(), wish, patience, timeout))
    if json:
        print_json(as_json(difference))
    else:
        out().print(diff_view(difference))


def rewards(
    rollout_id: Annotated[str, typer.Argument(metavar="ROLLOUT", help="RUN/TASK/SAMPLE.")],
    timeout: Timeout = SCAN_SECONDS,
    json: Json = False,
) -> None:
    """Show all the scores that a rollout's trajectory ever had: the first one, and one for each re-score.

    Example: `odradek rewards mcqa-1129-194512-x7/0/0`
    """
    found = asyncio.run(_rewards(find_deployment(), rollout_id, timeout))
    if not found:
        raise CliError(
            f"no reward of {rollout_id!r} here", Exit.INVALID_INPUT, "ids: `odradek results RUN --rollouts`"
        )
    if json:
        print_json([reward.model_dump(mode="json") for reward in found])
    else:
        out().print(rewards_view(found))


async def _wish(
    run_id: str | None,
    since: str | None,
    environment: str | None,
    verifier: str | None,
    settings: JsonObject,
    id_: str | None,
    timeout: float,
) -> Wish:
    if run_id is None and since is None and environment is None:
        raise CliError(
            "what is to be scored again?",
            Exit.USAGE,
            "say --run RUN, --since TIME, --environment E or --file F",
        )
    name = _name(id_)
    moment = datetime.fromtimestamp(0, UTC) if since is None else read_moment(since, datetime.now(UTC))
    recorded: JsonObject = {}
    if run_id is None and (verifier or environment) and (verifier or settings):
        load_environment(verifier or environment or "", settings)
    if run_id is not None:
        async with open_log(find_deployment()) as log:
            asked = (await load_run(log, run_id, timeout)).request
        moment = max(moment, asked.time - CLOCK_SKEW)
        if verifier in (None, asked.environment):
            recorded = asked.settings
        load_environment(verifier or asked.environment, {**recorded, **settings})
    return Wish(name, run_id, environment, verifier, settings, moment, recorded)


def _refuse_with_file(options: Mapping[str, object]) -> None:
    given = [option for option, value in options.items() if value]
    if given:
        what = f"--file scores what is in a file: it does not go with {', '.join(given)}"
        raise CliError(what, Exit.USAGE, "leave one of them out")


def _name(id_: str | None) -> str:
    name = new_run_id("rescore", datetime.now().astimezone()) if id_ is None else id_
    try:
        check_run_id(name)
    except ValueError as error:
        raise CliError(f"--id: {error}", Exit.USAGE) from error
    if name in RESERVED_SCORINGS:
        raise CliError(
            f"--id {name}: that is the name of rewards that runs have of themselves",
            Exit.USAGE,
            "take another",
        )
    return name


async def _on_log(deployment: Deployment, wish: Wish, patience: float, timeout: float) -> RescoreDiff:
    async with open_log(deployment) as log:
        asked = await planned(log, wish, timeout)
        if asked:
            note(f"{wish.id} was asked for before: looking on")
        else:
            asked = await _ask(log, wish)
        wanted = spans(asked)
        began = min(request.time for request in asked)
        after = await _watched(log, wish, wanted, began, patience)
        before = await scores_before(log, wish.asked_at(began), wanted, timeout)
        warn_unreadable(err(), log.unreadable)
        return diff(before, after)


async def _ask(log: Log, wish: Wish) -> list[RescoreRequested]:
    wanted = await ranges(log, wish)
    if not wanted:
        raise CliError(
            "there are no trajectories of that time", Exit.INVALID_INPUT, "`odradek runs` lists runs"
        )
    asked = await plan(log, wish, wanted)
    note(f"{wish.id}: asked for on {len(asked)} partitions; it goes on by itself")
    return asked


async def _watched(
    log: Log, wish: Wish, partitions: Iterable[int], since: datetime, patience: float
) -> dict[str, Score]:
    after: dict[str, Score] = {}
    with err().status(f"{wish.id}: begins") as shown:
        async for standing in follow(log, wish, partitions, since, patience):
            of = "" if standing.wanted is None else f" of {standing.wanted:,}"
            shown.update(f"{wish.id}: {len(standing.after):,}{of} scored")
            after = standing.after
    return after


async def _tell_plan(deployment: Deployment, wish: Wish, timeout: float, json: bool) -> None:
    async with open_log(deployment) as log:
        wanted = await ranges(log, wish)
        before = await scores_before(log, wish, wanted, timeout)
    name = wish.verifier or wish.environment or _one_environment(before)
    told = {
        "trajectories": len(before),
        "ranges": {str(p): {"start": start, "end": end} for p, (start, end) in wanted.items()},
        "verifiers_before": sorted({score.verifier for score in before.values()}),
        "verifier_now": _present(name, {**wish.recorded, **wish.settings}),
    }
    if json:
        print_json(told)
        return
    note("nothing was written; this would be scored again:")
    for what, value in told.items():
        out().print(f"{what}: {value}", markup=False)


def _one_environment(before: dict[str, Score]) -> str | None:
    names = {score.verifier.partition("@")[0] for score in before.values()} - {"-"}
    return names.pop() if len(names) == 1 else None


def _present(name: str | None, settings: JsonObject) -> str | None:
    """The verifier that scores here now; None: there are several."""
    if name is None:
        return None
    identity = verifier_identity(load_environment(name, settings))
    return f"{identity.name}@{identity.version}"


def _of_file(origin: Origin, scoring: Scoring) -> RescoreDiff:
    try:
        return asyncio.run(_rescored(origin, scoring))
    except OSError as error:
        raise CliError(f"{origin.path}: {error.strerror}", Exit.INVALID_INPUT) from error
    except BadRecord as error:
        raise CliError(f"{origin.path.name}: {error}", Exit.INVALID_INPUT) from error


async def _rescored(origin: Origin, scoring: Scoring) -> RescoreDiff:
    before: dict[str, Score] = {}
    after: dict[str, Score] = {}
    async for found in rescore_file(origin, scoring):
        rollout_id = found.reward.rollout_id
        after[rollout_id] = Score.of(found.reward)
        if found.before is not None:
            before[rollout_id] = found.before
    return diff(before, after)


async def _rewards(deployment: Deployment, rollout_id: str, within: float) -> list[RewardAssigned]:
    async with open_log(deployment) as log:
        run = await load_run(log, run_of(rollout_id), within)
        found = await log.scan(
            REWARDS,
            lambda envelope: envelope.type == "RewardAssigned" and envelope.rollout_id == rollout_id,
            since=run.request.time,
            within=within,
        )
        warn_unreadable(err(), log.unreadable)
    return sorted((item.event for item in found), key=lambda reward: reward.time)
