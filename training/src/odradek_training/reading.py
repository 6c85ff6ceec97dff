"""From a record of the log to what a stream makes of it."""

from odradek_runtime.errors import CommitFailedError
from odradek_runtime.intake import Intake
from odradek_runtime.logs import get_logger
from odradek_runtime.records import RawRecord, Record
from odradek_schemas.codec import RecordError
from odradek_schemas.events import Event, RewardAssigned, RunImported
from odradek_schemas.topics import CONTROL, REWARDS
from odradek_training.arrival import Arrival
from odradek_training.errors import StreamUnreachable
from odradek_training.runs import Run, Runs
from odradek_training.selection import Selection, task_of

log = get_logger(__name__)

_CONTROL = ("PolicyUpdated", "PartitionsAdded")


class Reading:
    """Filters by header, decodes what is left, and fetches large values from the blob store.

    What can't be read is logged. Of `rewards` it is an arrival without a reward, so that its group does not wait for
    it; of the other topics it is left out.
    """

    def __init__(self, intake: Intake, selection: Selection, runs: Runs) -> None:
        self._intake = intake
        self._selection = selection
        self._runs = runs

    def open(self, topic: str, raw: RawRecord) -> Record | None:
        """The record, if by its headers it may be wanted."""
        record, error = self._intake.open(topic, raw)
        if error is not None or raw.value is None:
            return None
        if topic == CONTROL.name:
            return record if record.envelope.type in _CONTROL else None
        may_want = self._selection.may_want if topic == REWARDS.name else self._runs.may_want
        return record if may_want(record.envelope) else None

    async def read(self, record: Record, time: float) -> Event | Arrival | None:
        """What a record tells; None: nothing that matters here.

        Raises:
            StreamUnreachable: the blob store does not answer.
        """
        if record.topic != REWARDS.name:
            return await self._event(record)
        run, rollout_id = self._runs.find(record.envelope.run_id), record.envelope.rollout_id
        if run is None or rollout_id is None:
            return None
        event = await self._event(record)
        reward = event if isinstance(event, RewardAssigned) else None
        return Arrival(
            run_id=run.run_id,
            task_id=task_of(rollout_id),
            rollout_id=rollout_id,
            size=_size(run, reward),
            partition=record.partition,
            offset=record.offset,
            time=time,
            reward=reward,
        )

    async def _event(self, record: Record) -> Event | None:
        try:
            return await self._intake.read(record)
        except RecordError as error:
            log.error("record can't be read", record=str(record.coordinates), reason=error.reason)
            return None
        except CommitFailedError as error:
            raise StreamUnreachable(str(error)) from error


def _size(run: Run, reward: RewardAssigned | None) -> int:
    """The rollouts planned for a task. Only imported tasks may differ in it; else the run's word is better than that
    of a reward whose trajectory could not be read."""
    return reward.group.size if isinstance(run, RunImported) and reward is not None else run.samples
