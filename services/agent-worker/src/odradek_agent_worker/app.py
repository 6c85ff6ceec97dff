"""The agent-worker, put together."""

import sys

from odradek_agent_worker.admission import Admission, share
from odradek_agent_worker.fold import JournalFold
from odradek_agent_worker.harnesses import find_harness, load_harnesses
from odradek_agent_worker.metrics import AgentMetrics
from odradek_agent_worker.note import JournalNote
from odradek_agent_worker.settings import AgentSettings
from odradek_agent_worker.watch import Watch
from odradek_agent_worker.watchdog import Watchdog
from odradek_runtime.folds import FoldContext, StatefulProcessor
from odradek_runtime.service import run_service
from odradek_runtime.settings import SettingsError, read_settings
from odradek_schemas.topics import AGENT, JOURNAL, MODEL_RESULTS, OBSERVATIONS, TASKS


def create_processor(settings: AgentSettings, watch: Watch | None = None) -> StatefulProcessor:
    """What the service is made of. `watch`: where harnesses are seen to run; None: nobody looks."""
    seen = watch or Watch()
    metrics = AgentMetrics()

    def create(context: FoldContext) -> JournalFold:
        fold = JournalFold(
            context.partition,
            find_harness,
            Admission(share(settings.max_rollouts_in_flight, context.partitions)),
            seen,
            snapshot_after=settings.snapshot_after_records,
            settle_seconds=settings.restore_settle_seconds,
        )
        metrics.watch(fold)
        return fold

    return StatefulProcessor(
        name=AGENT,
        inputs=(TASKS.name, MODEL_RESULTS.name, OBSERVATIONS.name),
        changelog=JOURNAL.name,
        create=create,
        anchor=TASKS.name,
        measures=metrics,
    )


def main() -> None:
    try:
        settings = read_settings(AgentSettings)
    except SettingsError as error:
        sys.exit(f"odradek-agent-worker: {error}")
    load_harnesses()
    watch = Watch()
    Watchdog(watch, settings.harness_stuck_seconds, JournalNote(settings)).start()
    run_service(create_processor(settings, watch), settings)
