"""How work stands, for a person and for a program."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from odradek_cli.attendance import DOES
from odradek_cli.progress import duration
from odradek_cli.render import counts_text, listing
from odradek_cli.standing import Behind, Standing, Wait


def standing_view(standing: Standing) -> Iterator[RenderableType]:
    """Workers, what rollouts wait for, and partitions that stand still."""
    table = listing("WORKER", "ALIVE", "MEMBERS")
    for worker, members in standing.workers.items():
        alive = Text(str(len(members)), style="green" if members else "red")
        who = ", ".join(f"{member.client} on {member.host}" for member in members)
        table.add_row(worker, alive, Text(who or f"none: {DOES[worker]}"))
    yield table
    counts = {what: count for what, count in standing.counts.items() if count}
    yield Text(f"rollouts that wait: {counts_text(counts)}")
    if standing.waits:
        yield waits_table(standing.waits)
    stalled = [behind for behind in standing.behind if behind.stalled]
    if stalled:
        yield stalled_table(stalled)


def waits_table(waits: tuple[Wait, ...]) -> RenderableType:
    """What has waited longest."""
    table = listing("ROLLOUT", "WAITS FOR", "SINCE", "AGE", "DEADLINE IN", "WHO", "STATE")
    now = datetime.now(UTC)
    for wait in waits:
        left = "-" if wait.deadline is None else _left((wait.deadline - now).total_seconds())
        table.add_row(
            Text(wait.rollout_id),
            Text(f"{wait.kind} {wait.on.removeprefix(wait.rollout_id + '/')}"),
            f"{wait.since.astimezone():%H:%M:%S}",
            duration(max(0.0, (now - wait.since).total_seconds())),
            Text(left, style="red" if wait.overdue else ""),
            wait.who,
            Text(wait.state),
        )
    return table


def _left(seconds: float) -> str:
    return duration(seconds) if seconds >= 0 else f"overdue by {duration(-seconds)}"


def stalled_table(stalled: list[Behind]) -> RenderableType:
    """Partitions that nobody works on."""
    table = listing("STALLED", "PARTITION", "BEHIND", "OLDEST", "OWNER")
    for behind in stalled:
        place = f"{behind.topic}[{behind.partition}]"
        since = f"{behind.since.astimezone():%H:%M:%S}"
        owner = Text(behind.owner or "nobody", style="" if behind.owner else "red")
        table.add_row(behind.worker, place, str(behind.records), since, owner)
    return table


def as_json(standing: Standing) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "workers": {
            worker: [{"client": m.client, "host": m.host, "partitions": sorted(m.numbers)} for m in members]
            for worker, members in standing.workers.items()
        },
        "waiting": standing.counts,
        "waits": [
            asdict(wait)
            | {
                "since": wait.since.isoformat(),
                "deadline": wait.deadline.isoformat() if wait.deadline else None,
                "overdue": wait.overdue,
            }
            for wait in standing.waits
        ],
        "stalled": [
            asdict(behind) | {"since": behind.since.isoformat()}
            for behind in standing.behind
            if behind.stalled
        ],
    }
