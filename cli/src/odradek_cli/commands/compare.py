"""`compare`: two runs, or two scorings of one, against each other."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

import typer

from odradek.metrics import Missing
from odradek_cli.commands.options import Html, Json, MissingPolicy, Threshold, Timeout
from odradek_cli.compare_view import comparison_view
from odradek_cli.comparing import RunComparison, Side, compare_sides, comparison_json, make_side, parse_side
from odradek_cli.deployment import Deployment, find_deployment
from odradek_cli.kafka import SCAN_SECONDS, Log, open_log
from odradek_cli.likeness import check_alike
from odradek_cli.output import err, out, print_json
from odradek_cli.pages import comparison_page, write_page
from odradek_cli.render import warn_unreadable
from odradek_cli.runs import load_rewards, load_run


@dataclass(frozen=True)
class _Ways:
    """How to compare; `any_tasks`: whether or not the tasks are the same."""

    missing: Missing
    threshold: float
    seed: int
    any_tasks: bool
    within: float


def register(app: typer.Typer) -> None:
    app.command()(compare)


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A run, or RUN@SCORING for a re-score of it.")],
    b: Annotated[str, typer.Argument(metavar="B", help="What is compared with it.")],
    missing: MissingPolicy = Missing.EXCLUDE,
    threshold: Threshold = 1.0,
    seed: Annotated[int, typer.Option(help="Of the bootstrap; the same seed gives the same figures.")] = 0,
    different_tasks: Annotated[
        bool, typer.Option("--different-tasks", help="Compare by number even if the tasks are not the same.")
    ] = False,
    html: Html = None,
    timeout: Timeout = SCAN_SECONDS,
    json: Json = False,
) -> None:
    """Compare B with A, paired by task: the difference with its interval, how likely it is by chance, what flipped.

    The test is McNemar's where each task has one sample that is 0 or 1, else a paired bootstrap over tasks. Runs of
    other environments or data sets are refused.

    Examples: `odradek compare mcqa-1129-194512-x7 mcqa-1130-080102-q1`, `odradek compare R R@stricter --html it.html`
    """
    ways = _Ways(missing, threshold, seed, different_tasks, timeout)
    comparison = asyncio.run(_comparison(find_deployment(), a, b, ways))
    if html is not None:
        write_page(html, comparison_page(comparison))
    if json:
        print_json(comparison_json(comparison))
    else:
        out().print(comparison_view(comparison))


async def _comparison(deployment: Deployment, a: str, b: str, ways: _Ways) -> RunComparison:
    async with open_log(deployment) as log:
        sides = [await _side(log, name, ways.within) for name in (a, b)]
        if not ways.any_tasks:
            await check_alike(log, sides[0].run, sides[1].run)
        warn_unreadable(err(), log.unreadable)
    return compare_sides(sides[0], sides[1], ways.missing, ways.threshold, ways.seed)


async def _side(log: Log, name: str, within: float) -> Side:
    run_id, scoring = parse_side(name)
    run = await load_run(log, run_id, within)
    rewards = await load_rewards(log, run, within, scoring)
    return make_side(run, scoring, rewards)
