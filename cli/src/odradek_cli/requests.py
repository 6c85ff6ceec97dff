"""What the command line asks of a deployment: runs, and their end."""

from datetime import UTC, datetime

from odradek_cli.deployment import Deployment
from odradek_cli.kafka import open_log, send
from odradek_cli.runs import Run, load_run
from odradek_runtime.blobs import blob_uri, open_blob_store
from odradek_schemas.events import Dataset, RunCancelRequested, RunRequested
from odradek_schemas.topics import RUNS


async def request_run(deployment: Deployment, request: RunRequested, content: bytes) -> None:
    """Upload the data set, then ask for the run: in this order, so that who reads the request finds the data."""
    async with open_log(deployment) as log:
        reference = await open_blob_store(deployment.blob_store).put(content)
        dataset = Dataset(uri=blob_uri(reference), name=request.dataset.name)
        await send(log, RUNS, request.model_copy(update={"dataset": dataset, "time": datetime.now(UTC)}))


async def request_cancel(deployment: Deployment, run_id: str, reason: str) -> Run:
    """Ask for a run's end, unless it has ended; returns it as it was."""
    async with open_log(deployment) as log:
        run = await load_run(log, run_id)
        if not run.finished:
            await send(log, RUNS, RunCancelRequested(id=run_id, run_id=run_id, reason=reason))
        return run
