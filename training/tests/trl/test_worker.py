import time
from types import SimpleNamespace
from typing import Any

import pytest

from odradek_training.trl import RolloutWorker
from odradek_training.trl.worker import WorkerDied

pytestmark = pytest.mark.usefixtures("libraries")
SECONDS = 10.0


@pytest.fixture
def playing() -> Any:
    """Starts a worker, and stops it at the end."""
    started: list[RolloutWorker] = []

    def start(worker: RolloutWorker) -> RolloutWorker:
        started.append(worker)
        worker.start()
        return worker

    yield start
    for worker in started:
        worker.stop()


def take(worker: RolloutWorker, count: int) -> list[Any]:
    return [worker.rollout_buffer.get(timeout=SECONDS) for _ in range(count)]


def until(condition: Any) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.005)


def pair(group_of: Any, makes: Any, task: int, policy: str | None = None) -> Any:
    tokens = [makes.tokens(1, 2, policy=policy), makes.tokens(1, 3, policy=policy)]
    return group_of(task, (1.0, tokens[:1]), (0.0, tokens[1:]))


def test_a_groups_sequences_come_with_the_advantage_of_their_rollout(
    stream_of: Any, group_of: Any, makes: Any, playing: Any
) -> None:
    branches = [makes.tokens(1, 2, policy="5"), makes.tokens(1, 2, 3, policy="6")]
    group = group_of(
        0, (1.0, branches), (0.0, [makes.tokens(1, 4, policy="6")]), (None, [makes.tokens(1, 5)])
    )
    one, two, three = take(playing(RolloutWorker(stream_of([group]))), 3)
    assert (one.input_ids, one.completion_mask, one.old_log_probs) == ([1, 2], [0, 1], [0.0, -0.5])
    assert two.input_ids == [1, 2, 3]
    assert [each.model_version for each in (one, two, three)] == [5, 6, 6]
    assert {each.group_id for each in (one, two, three)} == {1}
    assert [each.metrics for each in (one, two, three)] == [{"reward": 1.0}, {"reward": 1.0}, {"reward": 0.0}]
    assert one.advantage == two.advantage == -three.advantage
    assert abs(one.advantage - 0.5 / 0.5**0.5) < 1e-3


def test_versions_count_on_from_the_checkpoints_step(
    stream_of: Any, group_of: Any, makes: Any, playing: Any
) -> None:
    """The trainer's own count begins anew; Odradek's goes on."""
    announced: list[str] = []
    worker = RolloutWorker(stream_of([pair(group_of, makes, 0, "52")]), announced.append, step=50)
    worker.update_model_version(1)
    assert announced == ["51"]
    assert {sample.model_version for sample in take(playing(worker), 2)} == {2}


def test_a_full_queue_is_not_read_past(stream_of: Any, group_of: Any, makes: Any, playing: Any) -> None:
    stream = stream_of([pair(group_of, makes, task) for task in range(8)])
    worker = playing(RolloutWorker(stream, queued=2))
    until(lambda: worker.rollout_buffer.full() and stream.given == 2)
    time.sleep(0.1)
    assert stream.given == 2
    assert len(take(worker, 16)) == 16


def test_a_stream_that_breaks_is_told_when_its_samples_are_taken(
    stream_of: Any, group_of: Any, makes: Any, playing: Any
) -> None:
    worker = playing(RolloutWorker(stream_of([pair(group_of, makes, 0)], then=ValueError("the log is gone"))))
    take(worker, 2)
    until(lambda: _died(worker))
    with pytest.raises(WorkerDied, match="the log is gone"):
        worker.check_health(60)


def test_a_stream_that_ends_is_told(stream_of: Any, playing: Any) -> None:
    worker = playing(RolloutWorker(stream_of([])))
    until(lambda: _died(worker))
    with pytest.raises(WorkerDied, match="are over"):
        worker.check_health(60)


def test_it_waits_no_longer_than_it_is_told(stream_of: Any, group_of: Any, makes: Any, playing: Any) -> None:
    worker = playing(RolloutWorker(stream_of([pair(group_of, makes, 0)]), queued=1))
    until(worker.rollout_buffer.full)
    worker.check_health(60)
    with pytest.raises(TimeoutError, match="no group came"):
        worker.check_health(-1)


def test_stopping_closes_the_stream(stream_of: Any, group_of: Any, makes: Any, playing: Any) -> None:
    stream = stream_of([pair(group_of, makes, task) for task in range(4)])
    worker = playing(RolloutWorker(stream, queued=1))
    until(worker.rollout_buffer.full)
    worker.stop()
    assert stream.closed


def test_a_worker_that_never_started_can_be_stopped(stream_of: Any) -> None:
    RolloutWorker(stream_of([])).stop()


@pytest.mark.parametrize("wrapped", [False, True], ids=["plain", "accelerate's"])
def test_the_position_is_that_of_what_was_trained_on_not_of_what_was_taken(
    stream_of: Any, group_of: Any, makes: Any, playing: Any, state: Any, wrapped: bool
) -> None:
    """Batches of a group each: while one is trained on, the next is collated already, and more wait in the queue."""
    worker = playing(RolloutWorker(stream_of([pair(group_of, makes, task) for task in range(4)])))
    told: list[Any] = []
    callback = worker.callback(lambda step, tasks: told.append((step, list(tasks))))
    loader = SimpleNamespace(collate_fn=lambda examples: "a batch")
    given = SimpleNamespace(base_dataloader=loader, collate_fn=loader.collate_fn) if wrapped else loader
    callback.on_train_begin(None, state, None, train_dataloader=given)

    def collate() -> Any:
        rows = [SimpleNamespace(samples=[vars(sample) for sample in take(worker, 2)])]
        return loader.collate_fn([rows])

    assert collate() == "a batch"
    for step in (1, 2):
        collate()
        state.global_step = step
        callback.on_step_end(None, state, None)
        assert state.stateful_callbacks["OdradekStream"]["attributes"] == {"position": {"given": step}}
    assert told == [(1, ["r/0"]), (2, ["r/1"])]


def _died(worker: RolloutWorker) -> bool:
    try:
        worker.check_health(60)
    except WorkerDied:
        return True
    return False
