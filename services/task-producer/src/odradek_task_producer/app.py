"""The task-producer, put together."""

import sys

from odradek_runtime.blobs import open_blob_store
from odradek_runtime.folds import FoldContext, StatefulProcessor
from odradek_runtime.sealing import Sealer, SealError
from odradek_runtime.service import run_service
from odradek_runtime.settings import SealingKeys, SettingsError, read_settings
from odradek_schemas.codec import Envelope
from odradek_schemas.events.results import PRIMARY_SCORING
from odradek_schemas.topics import LEDGER, PRODUCER, REWARDS, RUN_PROGRESS, RUNS
from odradek_task_producer.count import Count
from odradek_task_producer.fold import ProducerFold
from odradek_task_producer.loading import DatasetLoader
from odradek_task_producer.metrics import ProducerMetrics
from odradek_task_producer.plan import Plan
from odradek_task_producer.purger import Purger
from odradek_task_producer.settings import ProducerSettings


def create_processor(settings: ProducerSettings, keys: SealingKeys | None = None) -> StatefulProcessor:
    """What the service is made of.

    Raises:
        SealError: there is no public key to seal answers with.
        BadBlobStoreUri: the blob store can't be opened.
    """
    loader = DatasetLoader(
        open_blob_store(settings.blob_store), _sealer(keys or SealingKeys()).seal, settings
    )

    metrics = ProducerMetrics()

    def create(context: FoldContext) -> ProducerFold:
        plan = Plan(
            context,
            loader,
            chunk=settings.admission_chunk,
            progress_seconds=settings.progress_seconds,
            cancel_grace_seconds=settings.cancel_grace_seconds,
        )
        metrics.watch(plan)
        return ProducerFold(
            plan,
            Count(context.partition, context.homes),
            companions=[Purger(settings, metrics)] if context.partition == 0 else [],
        )

    return StatefulProcessor(
        name=PRODUCER,
        inputs=(RUNS.name, RUN_PROGRESS.name, REWARDS.name),
        changelog=LEDGER.name,
        create=create,
        wanted=wanted,
        measures=metrics,
    )


def wanted(topic: str, envelope: Envelope) -> bool:
    """Rewards of re-scores, and those that came with imported rollouts, are no concern of a plan."""
    return topic != REWARDS.name or envelope.scoring in (None, PRIMARY_SCORING)


def main() -> None:
    try:
        settings = read_settings(ProducerSettings)
        processor = create_processor(settings)
    except (SettingsError, SealError, ValueError) as error:
        sys.exit(f"odradek-task-producer: {error}")
    run_service(processor, settings)


def _sealer(keys: SealingKeys) -> Sealer:
    if keys.public_key_file is None:
        raise SealError(
            "ODRADEK_SEALING_PUBLIC_KEY_FILE is not set: answers are sealed before they leave, with the public key "
            "(`odradek up` creates keys for a local stack)"
        )
    return Sealer.from_file(keys.public_key_file)
