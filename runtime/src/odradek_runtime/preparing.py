"""A new fold or handler for a partition number, and the owner that will run it once it is restored."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from odradek_runtime.acquisition import Acquired
from odradek_runtime.concurrent import ConcurrentOwner
from odradek_runtime.flow import Mailbox, NumberFlow
from odradek_runtime.folds import FoldContext, StatefulProcessor
from odradek_runtime.handlers import ConcurrentProcessor, HandlerContext
from odradek_runtime.intake import Intake
from odradek_runtime.metrics import Metrics
from odradek_runtime.owners import Owner
from odradek_runtime.records import Outputs
from odradek_runtime.restoring import Restore, restore_fold, restore_handler
from odradek_runtime.settings import WorkerSettings
from odradek_runtime.stateful import StatefulOwner
from odradek_runtime.turn import Turn


@dataclass(frozen=True)
class Prepared:
    """How a number's state is restored, its owner built, and the state closed when it never gets an owner."""

    restore: Restore
    build: Callable[[Acquired], Owner]
    discard: Callable[[], Awaitable[None]]


def prepare(
    processor: StatefulProcessor | ConcurrentProcessor,
    number: int,
    flow: NumberFlow,
    intake: Intake,
    turn: Turn,
    homes: int,
    settings: WorkerSettings,
    metrics: Metrics,
) -> Prepared:
    """Create the fold or handler of partition `number`; runs are dealt among `homes` partitions."""
    if isinstance(processor, StatefulProcessor):
        return _prepare_fold(processor, number, flow, intake, homes, settings, metrics)
    return _prepare_handler(processor, number, flow, intake, turn, settings, metrics)


def _prepare_fold(
    processor: StatefulProcessor,
    number: int,
    flow: NumberFlow,
    intake: Intake,
    homes: int,
    settings: WorkerSettings,
    metrics: Metrics,
) -> Prepared:
    mailbox = Mailbox()
    fold = processor.create(FoldContext(number, settings.partitions, homes, mailbox.post))

    def build(acquired: Acquired) -> Owner:
        owner = StatefulOwner(number, processor, fold, acquired, intake, flow, metrics)
        mailbox.open(owner.post)
        return owner

    async def discard() -> None:
        fold.close()

    return Prepared(restore_fold(fold, processor.changelog, intake), build, discard)


def _prepare_handler(
    processor: ConcurrentProcessor,
    number: int,
    flow: NumberFlow,
    intake: Intake,
    turn: Turn,
    settings: WorkerSettings,
    metrics: Metrics,
) -> Prepared:
    owner: ConcurrentOwner | None = None

    async def commit(outputs: Outputs) -> None:
        assert owner is not None, "it is the owner who asks a handler to work"
        await owner.commit(outputs)

    handler = processor.create(HandlerContext(number, settings.partitions, commit))

    def build(acquired: Acquired) -> Owner:
        nonlocal owner
        owner = ConcurrentOwner(
            number, processor, handler, acquired, intake, flow, turn, metrics, settings.drain_timeout_seconds
        )
        return owner

    return Prepared(restore_handler(handler, processor.changelog, intake), build, handler.close)
