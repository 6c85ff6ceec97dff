"""A worker as a process: `python runtime_program.py echo|tally [service]`, with the settings of every worker.

Without `service` it is the worker alone, which starts faster. PROGRAM_DELAY: seconds that a call takes; a
minute or more, only one that asks for `slow`. PROGRAM_HANGS: each call leaves a thread that hangs.
"""

import asyncio
import os
import sys
import threading

from runtime_lab import Echo, EchoHandler, Tally, reply

from odradek_runtime.blobs import open_blob_store
from odradek_runtime.folds import StatefulProcessor
from odradek_runtime.handlers import ConcurrentProcessor
from odradek_runtime.logs import configure_logs
from odradek_runtime.metrics import Metrics
from odradek_runtime.records import Outputs
from odradek_runtime.settings import WorkerSettings
from odradek_runtime.tuning import tune_aiokafka
from odradek_runtime.worker import Worker
from odradek_schemas.events import ModelCallRequested, PolicyUpdated

HANGS = "PROGRAM_HANGS" in os.environ
DELAY = float(os.environ.get("PROGRAM_DELAY", "0"))


class Policy(Echo):
    """Answers with the version of the policy that it was told last."""

    async def work(self, event: ModelCallRequested, handler: EchoHandler) -> None:
        if HANGS:
            asyncio.get_running_loop().run_in_executor(None, threading.Event().wait)
        if DELAY < 60 or event.messages[0].text == "slow":
            await asyncio.sleep(DELAY)
        self.version = max(
            (event.version for event in handler.controls if isinstance(event, PolicyUpdated)), default="none"
        )

    def outputs(self, event: ModelCallRequested) -> Outputs:
        return [reply(event, self.version)]


def processor(kind: str) -> ConcurrentProcessor | StatefulProcessor:
    return Policy().processor() if kind == "echo" else Tally().processor()


async def work(settings: WorkerSettings, kind: str) -> None:
    await Worker(processor(kind), settings, open_blob_store(settings.blob_store), Metrics()).run()


def main(kind: str, *, service: bool) -> None:
    settings = WorkerSettings()
    if service:
        from odradek_runtime.service import run_service

        run_service(processor(kind), settings)
        return
    configure_logs(kind, settings.log_level, settings.log_format)
    tune_aiokafka()
    asyncio.run(work(settings, kind))


if __name__ == "__main__":
    main(sys.argv[1], service="service" in sys.argv)
