"""`AsyncGRPOTrainer(rollout_worker=...)`: a thread that puts the stream's groups into the trainer's queue."""

import asyncio
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Protocol

from odradek_schemas.base import JsonObject
from odradek_training.group import Group
from odradek_training.trl.checkpoints import OnTrained, trained_callback
from odradek_training.trl.sequences import version_of
from odradek_training.trl.trained import Trained

QUEUED_SAMPLES = 64
STOP_SECONDS = 30.0
_FULL_SECONDS = 0.02
"""Between looks at a queue that is full: it belongs to threads, the stream to an event loop."""


class OpenStream(Protocol):
    """What is needed of an open `RewardStream`."""

    def __aiter__(self) -> AsyncIterator[Group]: ...
    def position(self) -> JsonObject: ...


class WorkerDied(RuntimeError):
    """The thread that reads the stream has ended; the cause is attached."""


class RolloutWorker:
    """TRL's `RolloutWorkerProtocol` over a `RewardStream` that is not open yet.

    `announce` is told each version of the policy when its weights are there. Versions count on from `step`, that of the
    checkpoint from which training goes on (the trainer's own count begins anew). `queued`: samples that wait in the
    trainer's queue; a full one is not read past, so the stream asks for no more. Give `callback()` among the callbacks.
    """

    def __init__(
        self,
        stream: AbstractAsyncContextManager[OpenStream],
        announce: Callable[[str], None] | None = None,
        *,
        step: int = 0,
        queued: int = QUEUED_SAMPLES,
    ) -> None:
        self.rollout_buffer: queue.Queue[Any] = queue.Queue(queued)
        self.metrics_queue: queue.Queue[dict[str, float]] = queue.Queue()
        self._stream = stream
        self._announce = announce
        self._step = step
        self._trained = Trained()
        self._running: tuple[threading.Thread, asyncio.AbstractEventLoop, asyncio.Task[None]] | None = None
        self._failure: BaseException | None = None
        self._news = time.monotonic()

    def start(self) -> None:
        """Open the stream and begin to read; what goes wrong is told by `check_health`."""
        loop = asyncio.new_event_loop()
        reading = loop.create_task(self._fill())
        thread = threading.Thread(
            target=self._read, args=(loop, reading), name="odradek-rollouts", daemon=True
        )
        self._running = (thread, loop, reading)
        thread.start()

    def stop(self) -> None:
        """Stop reading and close the stream, within `STOP_SECONDS`."""
        if self._running is None:
            return
        thread, loop, reading = self._running
        with suppress(RuntimeError):  # the loop is closed: it has ended by itself
            loop.call_soon_threadsafe(reading.cancel)
        thread.join(STOP_SECONDS)

    def update_model_version(self, model_version: int) -> None:
        """The trainer's weights of version `model_version` are served now. Raises what `announce` raises."""
        if self._announce is not None:
            self._announce(str(self._step + model_version))

    def check_health(self, stale_after_s: float) -> None:
        """Called while the trainer waits for a sample.

        Raises:
            WorkerDied: the stream ended or broke.
            TimeoutError: nothing came for `stale_after_s` seconds.
        """
        if self._running is not None and not self._running[0].is_alive() and self.rollout_buffer.empty():
            raise WorkerDied(f"no more rollouts: {self._failure or 'the runs of the stream are over'}") from (
                self._failure
            )
        waited = time.monotonic() - self._news
        if waited > stale_after_s:
            raise TimeoutError(
                f"no group came for {waited:.0f} s; `odradek status` shows what rollouts wait for"
            )

    def callback(self, on_trained: OnTrained | None = None) -> Any:
        """A callback that keeps in the trainer's checkpoints how far it has trained; see `position_in`."""
        return trained_callback(self._trained, on_trained)

    def _read(self, loop: asyncio.AbstractEventLoop, reading: "asyncio.Task[None]") -> None:
        try:
            loop.run_until_complete(reading)
        except asyncio.CancelledError:
            pass
        except Exception as error:  # noqa: BLE001 - check_health raises it in the trainer's thread
            self._failure = error
        finally:
            loop.close()

    async def _fill(self) -> None:
        number = 0
        async with self._stream as stream:
            async for group in stream:
                number += 1
                self._news = time.monotonic()
                samples = self._samples(group, number)
                self._trained.give(number, group.task_id, len(samples), stream.position())
                for sample in samples:
                    await self._put(sample)

    def _samples(self, group: Group, number: int) -> list[Any]:
        """Every sequence of the group's scored rollouts, with the advantage of its rollout."""
        pairs = zip(group.samples, group.sample_advantages(), strict=True)
        return [
            _rollout_sample(
                input_ids=sample.token_ids,
                completion_mask=sample.loss_mask,
                old_log_probs=sample.logprobs,
                advantage=advantage,
                model_version=version_of(sample) - self._step,
                group_id=number,
                metrics={"reward": reward.reward},
            )
            for (reward, sample), advantage in pairs
            if reward.reward is not None
        ]

    async def _put(self, sample: Any) -> None:
        while True:
            try:
                return self.rollout_buffer.put_nowait(sample)
            except queue.Full:
                self._news = time.monotonic()
                await asyncio.sleep(_FULL_SECONDS)


def _rollout_sample(
    input_ids: list[int], completion_mask: list[int], old_log_probs: list[float], **more: Any
) -> Any:
    """TRL's own type, [tokens] each; its messages are for a person's eye alone."""
    import numpy as np
    from trl.experimental.async_grpo.async_rollout_worker import RolloutSample

    return RolloutSample(
        prompt=[],
        completion=[],
        input_ids=np.asarray(input_ids, np.int64),
        completion_mask=np.asarray(completion_mask, np.int64),
        old_log_probs=np.asarray(old_log_probs, np.float32),
        enqueued_at=time.time(),
        **more,
    )
