"""The rewards of one partition, counted per run and told to each run's owner (pure)."""

from datetime import datetime

from odradek_runtime.partitioning import partition_of
from odradek_runtime.records import Output, Outputs, Tombstone
from odradek_schemas.events import (
    RewardAssigned,
    RunCountChanged,
    RunCountRecorded,
    RunCounts,
)
from odradek_schemas.events.results import PRIMARY_SCORING
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import Usage
from odradek_schemas.rollouts import RolloutStatus
from odradek_schemas.topics import LEDGER, RUN_PROGRESS


class Counters:
    """`RunCounts` that can be counted up: thousands of rewards a second pass here."""

    __slots__ = (
        "_by_status",
        "_failures",
        "_finished",
        "_masked",
        "_reward_square_sum",
        "_reward_sum",
        "_usage",
    )

    def __init__(self, counts: RunCounts) -> None:
        self._finished = counts.finished
        self._by_status = {status.value: getattr(counts, status.value) for status in RolloutStatus}
        self._masked = counts.masked
        self._reward_sum = counts.reward_sum
        self._reward_square_sum = counts.reward_square_sum
        self._failures = dict(counts.failures)
        usage = counts.usage
        self._usage = [
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_tokens,
            usage.reasoning_tokens,
        ]

    def add(self, event: RewardAssigned) -> None:
        """Count one finished rollout."""
        self._finished += 1
        self._by_status[event.status.value] += 1
        self._add_reward(event)
        if event.failure is not None:
            self._add_failure(event.failure.kind)
        total, usage = self._usage, event.usage
        total[0] += usage.prompt_tokens
        total[1] += usage.completion_tokens
        total[2] += usage.cached_tokens
        total[3] += usage.reasoning_tokens

    def add_unreadable(self) -> None:
        """Count a rollout whose reward can't be read: it is over, and nothing else is known of it."""
        self._finished += 1
        self._masked += 1
        self._by_status[RolloutStatus.FAILED.value] += 1
        self._add_failure(FailureKind.UNREADABLE_RECORD)

    def total(self) -> RunCounts:
        """The counts so far."""
        prompt, completion, cached, reasoning = self._usage
        return RunCounts(
            finished=self._finished,
            masked=self._masked,
            reward_sum=self._reward_sum,
            reward_square_sum=self._reward_square_sum,
            failures=dict(self._failures),
            usage=Usage(
                prompt_tokens=prompt,
                completion_tokens=completion,
                cached_tokens=cached,
                reasoning_tokens=reasoning,
            ),
            **self._by_status,
        )

    def _add_reward(self, event: RewardAssigned) -> None:
        if event.masked or event.reward is None:
            self._masked += 1
        else:
            self._reward_sum += event.reward
            self._reward_square_sum += event.reward * event.reward

    def _add_failure(self, kind: FailureKind) -> None:
        self._failures[kind.value] = self._failures.get(kind.value, 0) + 1


class Count:
    """What finished in this partition. Counts are told absolutely, so that hearing one twice changes nothing.

    `homes`: among how many partitions runs are dealt.
    """

    def __init__(self, partition: int, homes: int) -> None:
        self._partition = partition
        self._homes = homes
        self._runs: dict[str, Counters] = {}
        self._changed: set[str] = set()
        self._released: set[str] = set()

    def restore(self, event: RunCountRecorded) -> None:
        self._runs[event.run_id] = Counters(event.counts)

    def accept(self, event: RewardAssigned) -> None:
        """Count a reward; those of re-scores are not counted."""
        if event.scoring == PRIMARY_SCORING:
            self._of(event.run_id).add(event)

    def accept_unreadable(self, run_id: str) -> None:
        """Count a first reward that can't be read, so that its run still ends."""
        self._of(run_id).add_unreadable()

    def release(self, run_id: str) -> None:
        """The run is over: forget its counts."""
        if self._runs.pop(run_id, None) is not None:
            self._released.add(run_id)
        self._changed.discard(run_id)

    def drain(self, position: int, now: datetime) -> Outputs:
        """What this cycle's rewards changed, once per run, however many there were."""
        outputs: Outputs = [Tombstone(LEDGER.name, f"{run_id}/count") for run_id in self._released]
        for run_id in self._changed:
            outputs += self._tell(run_id, self._runs[run_id].total(), position, now)
        self._changed.clear()
        self._released.clear()
        return outputs

    def _of(self, run_id: str) -> Counters:
        counters = self._runs.get(run_id)
        if counters is None:
            counters = self._runs[run_id] = Counters(RunCounts())
        self._changed.add(run_id)
        return counters

    def _tell(self, run_id: str, counts: RunCounts, position: int, now: datetime) -> Outputs:
        recorded = RunCountRecorded(id=f"{run_id}/count@{position}", run_id=run_id, time=now, counts=counts)
        changed = RunCountChanged(
            id=f"{run_id}/{self._partition}/{counts.finished}",
            run_id=run_id,
            time=now,
            partition=self._partition,
            counts=counts,
        )
        owner = partition_of(run_id, self._homes)
        return [Output(LEDGER.name, recorded), Output(RUN_PROGRESS.name, changed, owner)]
