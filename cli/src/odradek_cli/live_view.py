"""A picture of how work stands, for a person and for a program."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from odradek_cli.live import Picture, PoolNow
from odradek_cli.render import counts_text, listing, progress_panel
from odradek_cli.runs_under_way import RunNow
from odradek_cli.standing import Wait
from odradek_cli.standing_view import as_json as standing_json
from odradek_cli.standing_view import stalled_table, waits_table
from odradek_scaling.load import PoolLoad

MEASURED = ("backlog", "in_flight", "load", "members")

LONG_SECONDS = 60.0
"""What has waited for less is on its way, and no news."""


def live_view(picture: Picture) -> RenderableType:
    """All of it, one table below the other."""
    return Group(*_parts(picture))


def live_json(picture: Picture) -> dict[str, Any]:
    """The same as one JSON document. Numbers that are not known are null."""
    standing = standing_json(picture.standing) if picture.standing else {}
    return {
        "at": picture.at.isoformat(),
        "problem": picture.problem,
        "pools": {pool: _pool_json(now) for pool, now in picture.pools.items()},
        "runs": [_run_json(now) for now in picture.runs],
        "models": {model: asdict(now) for model, now in picture.models.items()},
        **standing,
    }


def _parts(picture: Picture) -> Iterator[RenderableType]:
    yield Text(f"as of {picture.at.astimezone():%H:%M:%S}", style="dim")
    if picture.problem:
        yield Text(f"{picture.problem} (looking again)", style="red")
    if picture.pools:
        yield _pools_table(picture)
    for now in picture.runs:
        yield progress_panel(now.run.id, now.view, "" if now.run.status == "running" else now.run.status)
    if picture.models:
        yield _models_table(picture)
    standing = picture.standing
    if standing is None:
        return
    counts = {what: count for what, count in standing.counts.items() if count}
    yield Text(f"rollouts that wait: {counts_text(counts)}")
    if long := tuple(wait for wait in standing.waits if wait.overdue or _age(wait, picture) > LONG_SECONDS):
        yield Text(f"for longer than {LONG_SECONDS:g} s, or beyond their deadline:", style="yellow")
        yield waits_table(long)
    if stalled := [behind for behind in standing.behind if behind.stalled]:
        yield stalled_table(stalled)


def _pools_table(picture: Picture) -> RenderableType:
    table = listing("POOL", "MEMBERS", "BACKLOG", "IN FLIGHT", "OFFSETS/S", "")
    for pool, now in picture.pools.items():
        load = now.load
        if isinstance(load, PoolLoad):
            members = Text(str(load.members), style="green" if load.members else "red")
            table.add_row(pool, members, str(load.backlog), str(load.in_flight), _told(now.per_second), "")
        else:
            table.add_row(pool, "-", "-", "-", _told(now.per_second), Text(f"not known: {load}", style="red"))
    return table


def _models_table(picture: Picture) -> RenderableType:
    table = listing("MODEL", "UNDER WAY", "LIMIT", "WAITING", "CALLS/S", "FAILED/S", "MEAN S", "TOKENS/S")
    for model, now in picture.models.items():
        table.add_row(
            Text(model),
            str(now.under_way),
            str(now.limit),
            str(now.waiting),
            _told(now.calls_per_second),
            _told(now.failures_per_second),
            _told(now.seconds),
            _told(now.tokens_per_second),
        )
    return table


def _age(wait: Wait, picture: Picture) -> float:
    return (picture.at - wait.since).total_seconds()


def _told(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _pool_json(now: PoolNow) -> dict[str, Any]:
    load = now.load
    if isinstance(load, PoolLoad):
        return {**load.model_dump(exclude={"pool"}), "per_second": now.per_second, "unknown": None}
    return {**dict.fromkeys(MEASURED), "per_second": now.per_second, "unknown": str(load)}


def _run_json(now: RunNow) -> dict[str, Any]:
    view = now.view
    told = asdict(view) | {"in_flight": view.in_flight, "coverage": view.coverage} if view else None
    return {"run_id": now.run.id, "status": now.run.status, "progress": told}
