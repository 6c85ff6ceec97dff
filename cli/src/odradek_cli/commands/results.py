"""`results`, `show`: what came out."""

import asyncio
from typing import Annotated

import typer

from odradek_cli.commands.options import Json, Timeout
from odradek_cli.deployment import Deployment, find_deployment
from odradek_cli.kafka import SCAN_SECONDS, open_log
from odradek_cli.output import err, out, print_json
from odradek_cli.render import rollouts_table, summary_view, warn_unreadable
from odradek_cli.runs import load_rewards, load_run
from odradek_cli.summary import RunSummary, as_json, summarize_run
from odradek_cli.trajectories import RolloutRecord, load_rollout, rollout_view


def register(app: typer.Typer) -> None:
    app.command()(results)
    app.command()(show)


def results(
    run_id: Annotated[str | None, typer.Argument(metavar="[RUN]", help="The last run by default.")] = None,
    rollouts: Annotated[bool, typer.Option("--rollouts", help="List each rollout, too.")] = False,
    timeout: Timeout = SCAN_SECONDS,
    json: Json = False,
) -> None:
    """Show a run's results: mean reward with its interval, pass@k, coverage, failures, tokens, times.

    Figures are over the planned rollouts: those that failed for the infrastructure's sake are in no mean, and
    lower the coverage.

    Example: `odradek results mcqa-1129-194512-x7 --rollouts`
    """
    summary = asyncio.run(_summary(find_deployment(), run_id, timeout))
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


async def _summary(deployment: Deployment, run_id: str | None, within: float) -> RunSummary:
    async with open_log(deployment) as log:
        run = await load_run(log, run_id, within)
        rewards = await load_rewards(log, run, within)
        warn_unreadable(err(), log.unreadable)
        return summarize_run(run, (found.event for found in rewards))


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
