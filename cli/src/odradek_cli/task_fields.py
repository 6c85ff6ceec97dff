"""The tasks of a run as their environment has them, from one trajectory of each."""

from odradek_cli.kafka import SCAN_SECONDS, Found, Log, Wanted
from odradek_cli.runs import Run
from odradek_schemas.base import JsonObject
from odradek_schemas.codec import Envelope
from odradek_schemas.topics import TRAJECTORIES


async def load_tasks(log: Log, run: Run, within: float = SCAN_SECONDS) -> dict[str, JsonObject]:
    """The tasks by id. One of which no rollout has ended is not among them. Answers are sealed, and never here.

    Raises:
        CliError: not done within `within` seconds.
    """
    found: dict[str, JsonObject] = {}

    def take(one: Found) -> None:
        found[one.event.trajectory.group.task_id] = one.event.trajectory.task

    await log.each(TRAJECTORIES, take, _of_new_tasks(run.id), since=run.request.time, within=within)
    return found


def _of_new_tasks(run_id: str) -> Wanted:
    """Wants one trajectory of each task of a run: all have the same task, and conversations are long."""
    seen: set[str] = set()

    def wanted(envelope: Envelope) -> bool:
        task = (envelope.rollout_id or "").rpartition("/")[0]
        if envelope.run_id != run_id or task in seen:
            return False
        seen.add(task)
        return True

    return wanted
