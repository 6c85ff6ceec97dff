"""Raising the demand of runs."""

import asyncio

from aiokafka.errors import KafkaError

from odradek_runtime.blobs import open_blob_store
from odradek_runtime.log_writer import LogWriter, NotWrittenError
from odradek_runtime.partitioning import Layout
from odradek_schemas.events import RunDemandRaised, RunRequested
from odradek_schemas.topics import RUNS
from odradek_training.demand import Demand
from odradek_training.deployment import Deployment
from odradek_training.errors import DemandNotRaised
from odradek_training.runs import Runs
from odradek_training.selection import Selection

DEMAND_SECONDS = 30.0


class Asking:
    """Writes `RunDemandRaised` for the runs that admit rollouts by demand. A demand never falls, so asking again, or
    beside other ranks, changes nothing."""

    def __init__(self, deployment: Deployment, selection: Selection, runs: Runs) -> None:
        self._deployment = deployment
        self._selection = selection
        self._runs = runs
        self._demands: dict[str, Demand] = {}
        self._writer: LogWriter | None = None

    async def stop(self) -> None:
        if self._writer is not None:
            await self._writer.stop()

    async def ask(self, groups: dict[str, int], more: int, layout: Layout) -> None:
        """Have `more` groups beyond the first `groups` of each run played.

        Raises:
            DemandNotRaised: the log did not take it in time.
        """
        for run in self._runs.by_demand:
            wanted = self._demand(run).of(groups.get(run.run_id, 0) + more)
            if wanted > self._runs.demanded(run.run_id):
                await self._raise(run.run_id, wanted, layout.home(run.run_id))

    def _demand(self, run: RunRequested) -> Demand:
        return self._demands.setdefault(run.run_id, Demand(run.run_id, run.samples, self._selection))

    async def _raise(self, run_id: str, wanted: int, partition: int) -> None:
        event = RunDemandRaised(id=f"{run_id}/demand/{wanted}", run_id=run_id, demand=wanted)
        try:
            async with asyncio.timeout(DEMAND_SECONDS):
                writer = await self._started()
            await writer.write(RUNS.name, event, partition)
        except (NotWrittenError, KafkaError, TimeoutError) as error:
            raise DemandNotRaised(
                f"the demand of run {run_id} could not be raised to {wanted}: {error}"
            ) from error
        self._runs.raised(run_id, wanted)

    async def _started(self) -> LogWriter:
        """The writer, which only streams that ask for something have."""
        if self._writer is None:
            deployment = self._deployment
            blobs = open_blob_store(deployment.blob_store)
            writer = LogWriter(deployment.brokers, "trainer", deployment.names, blobs, DEMAND_SECONDS)
            try:
                await writer.start()
            except BaseException:
                await writer.stop()
                raise
            self._writer = writer
        return self._writer
