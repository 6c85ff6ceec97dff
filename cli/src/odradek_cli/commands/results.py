"""`results`, `show`: what came out."""

import asyncio
from collections.abc import Mapping
from typing import Annotated

import typer

from odradek.metrics import ANSWER, Missing, groups
from odradek_cli.commands.options import Html, Json, MissingPolicy, Threshold, Timeout
from odradek_cli.deployment import Deployment, find_deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import SCAN_SECONDS, open_log
from odradek_cli.output import err, out, print_json
from odradek_cli.pages import results_page, write_page
from odradek_cli.render import warn_unreadable
from odradek_cli.results_view import rollouts_table, summary_view
from odradek_cli.runs import Run, load_rewards, load_run
from odradek_cli.summary import RunSummary, Ways, as_json, summarize_run
from odradek_cli.task_fields import load_tasks
from odradek_cli.trajectories import RolloutRecord, load_rollout, rollout_view
from odradek_schemas.base import JsonObject
from odradek_schemas.events.results import PRIMARY_SCORING


def register(app: typer.Typer) -> None:
    app.command()(results)
    app.command()(show)


def results(
    run_id: Annotated[str | None, typer.Argument(metavar="[RUN]", help="The last run by default.")] = None,
    scoring: Annotated[str, typer.Option(help="A re-score's id; else the first scoring.")] = PRIMARY_SCORING,
    missing: MissingPolicy = Missing.EXCLUDE,
    threshold: Threshold = 1.0,
    by: Annotated[
        str | None, typer.Option(metavar="FIELD", help="Group by a field of the tasks, such as `meta.level`.")
    ] = None,
    answer: Annotated[
        str, typer.Option(metavar="KEY", help="The detail of a reward that majority@k votes on.")
    ] = ANSWER,
    rollouts: Annotated[bool, typer.Option("--rollouts", help="List each rollout, too.")] = False,
    html: Html = None,
    timeout: Timeout = SCAN_SECONDS,
    json: Json = False,
) -> None:
    """Show a run's results: mean reward with its interval, pass@k, pass^k, avg@k, majority@k, coverage, what it took.

    Figures are over the planned rollouts. Those that failed for the infrastructure's sake are in no mean, and lower
    the coverage; with `--missing zero` they count 0. docs/metrics.md has each figure's formula.

    Examples: `odradek results mcqa-1129-194512-x7 --rollouts`, `odradek results --by subject --html results.html`
    """
    ways = Ways(scoring, missing, threshold, answer, by)
    summary = asyncio.run(_summary(find_deployment(), run_id, ways, timeout))
    if html is not None:
        write_page(html, results_page(summary))
    if json:
        print_json(as_json(summary))
        return
    out().print(summary_view(summary))
    if rollouts:
        out().print()
        out().print(rollouts_table(summary))


def show(
    rollout_id: Annotated[str, typer.Argument(metavar="ROLLOUT", help="RUN/TASK/SAMPLE.")],
    timeout: Timeout = SCAN_SECONDS,
    json: Json = False,
) -> None:
    """Show one rollout whole: its messages and tool calls, how it ended, and its reward.

    Example: `odradek show mcqa-1129-194512-x7/0/0`
    """
    record = asyncio.run(_rollout(find_deployment(), rollout_id, timeout))
    if json:
        print_json(_as_json(record))
    else:
        out().print(rollout_view(record))


async def _summary(deployment: Deployment, run_id: str | None, ways: Ways, within: float) -> RunSummary:
    async with open_log(deployment) as log:
        run = await load_run(log, run_id, within)
        rewards = await load_rewards(log, run, within, ways.scoring)
        tasks = await load_tasks(log, run, within) if ways.by else {}
        warn_unreadable(err(), log.unreadable)
        _require_field(run, ways.by, tasks)
        return summarize_run(run, rewards, ways, tasks)


def _require_field(run: Run, by: str | None, tasks: Mapping[str, JsonObject]) -> None:
    """Refuse a field that no task has: it is mistyped."""
    if by and tasks and groups(list(tasks), tasks, by).keys() == {None}:
        known = sorted({name for task in tasks.values() for name in task})
        what = f"no task of {run.id} has a field {by!r}"
        raise CliError(what, Exit.INVALID_INPUT, f"they have: {', '.join(known) or 'none'}")


async def _rollout(deployment: Deployment, rollout_id: str, within: float) -> RolloutRecord:
    async with open_log(deployment) as log:
        record = await load_rollout(log, rollout_id, within)
        warn_unreadable(err(), log.unreadable)
        return record


def _as_json(record: RolloutRecord) -> dict[str, object]:
    return {
        "rollout_id": record.rollout_id,
        "trajectory": record.trajectory.model_dump(mode="json") if record.trajectory else None,
        "rewards": [reward.model_dump(mode="json") for reward in record.rewards],
        "journal": [entry.model_dump(mode="json") for entry in record.journal],
    }
