"""The verifier-worker, put together."""

import sys

from odradek_runtime.blobs import BadBlobStoreUri, open_blob_store
from odradek_runtime.handlers import ConcurrentProcessor, HandlerContext
from odradek_runtime.intake import Intake
from odradek_runtime.names import Names
from odradek_runtime.sealing import Opener, SealError
from odradek_runtime.service import run_service
from odradek_runtime.settings import SealingKeys, SettingsError, read_settings
from odradek_schemas.events.base import now
from odradek_schemas.topics import JUDGE_RESULTS, JUDGING, RESCORES, TRAJECTORIES, VERIFIER
from odradek_scoring import Answers, Bounds, Pool, Scorer
from odradek_verifier_worker.judgings import Judgings
from odradek_verifier_worker.metrics import VerifierMetrics
from odradek_verifier_worker.rescores import Rescores
from odradek_verifier_worker.settings import VerifierSettings
from odradek_verifier_worker.trajectories import Trajectories
from odradek_verifier_worker.verifier import Verifier


def create_processor(settings: VerifierSettings) -> ConcurrentProcessor:
    scorer = create_scorer(settings)
    intake = Intake(VERIFIER, open_blob_store(settings.blob_store))
    trajectories = Trajectories(settings.brokers, Names(settings.topic_prefix), intake)

    metrics = VerifierMetrics()

    def create(context: HandlerContext) -> Verifier:
        judgings = Judgings(scorer, trajectories.read, settings.judge_deadline_seconds, now)
        metrics.watch(judgings)
        return Verifier(judgings, Rescores(trajectories, scorer, judgings), context.commit)

    return ConcurrentProcessor(
        name=VERIFIER,
        inputs=(TRAJECTORIES.name, JUDGE_RESULTS.name, RESCORES.name),
        changelog=JUDGING.name,
        create=create,
        measures=metrics,
    )


def create_scorer(settings: VerifierSettings) -> Scorer:
    bounds = Bounds(
        job_seconds=settings.verifier_deadline_seconds,
        start_seconds=settings.verifier_start_seconds,
        memory_mib=settings.verifier_memory_mib,
    )
    private_key = SealingKeys().private_key_file
    answers = Answers(Opener.from_file(private_key) if private_key else None)
    return Scorer(Pool(settings.verifier_processes, bounds), answers)


def main() -> None:
    try:
        settings = read_settings(VerifierSettings)
        processor = create_processor(settings)
    except (SettingsError, SealError, BadBlobStoreUri, ValueError) as error:
        sys.exit(f"odradek-verifier-worker: {error}")
    run_service(processor, settings)
