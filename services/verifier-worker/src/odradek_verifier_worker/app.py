"""The verifier-worker, put together."""

import sys

from odradek_runtime.handlers import ConcurrentProcessor
from odradek_runtime.sealing import Opener, SealError
from odradek_runtime.service import run_service
from odradek_runtime.settings import SealingKeys
from odradek_schemas.topics import TRAJECTORIES, VERIFIER
from odradek_verifier_worker.answers import Answers
from odradek_verifier_worker.pool import Pool
from odradek_verifier_worker.process import Bounds
from odradek_verifier_worker.settings import VerifierSettings
from odradek_verifier_worker.verifier import Verifier


def create_processor(settings: VerifierSettings) -> ConcurrentProcessor:
    bounds = Bounds(
        job_seconds=settings.verifier_deadline_seconds,
        start_seconds=settings.verifier_start_seconds,
        memory_mib=settings.verifier_memory_mib,
    )
    pool = Pool(settings.verifier_processes, bounds)
    private_key = SealingKeys().private_key_file
    answers = Answers(Opener.from_file(private_key) if private_key else None)
    return ConcurrentProcessor(
        name=VERIFIER,
        inputs=(TRAJECTORIES.name,),
        create=lambda context: Verifier(pool, answers),
    )


def main() -> None:
    try:
        settings = VerifierSettings()
        processor = create_processor(settings)
    except (SealError, ValueError) as error:
        sys.exit(f"odradek-verifier-worker: {error}")
    run_service(processor, settings)
