from collections import Counter
from typing import Any

from odradek_runtime.partitioning import partition_of
from odradek_runtime.records import Record
from odradek_schemas.codec import Envelope, InvalidValue
from odradek_schemas.events import (
    BadRow,
    RunCancelled,
    RunCancelRequested,
    RunCountReleased,
    RunDemandRaised,
    RunFinished,
    RunPlanRecorded,
    RunProgressed,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_task_producer.events import DatasetRejected

BAD = Failure(kind=FailureKind.INVALID_DATASET, stage=Stage.PLAN, message="1 of 3 rows")


def rejected(run_id: str = "r", failure: Failure = BAD) -> DatasetRejected:
    rows = [BadRow(line=2, field="task.question", reason="Field required")]
    return DatasetRejected(id="x", run_id=run_id, failure=failure, bad_rows=rows)


def cancel(world: Any, run_id: str = "r", reason: str = "enough") -> None:
    world.write(RunCancelRequested(id="c", run_id=run_id, reason=reason))


def test_rollouts_go_out_in_order_to_the_partitions_of_their_ids(world: Any) -> None:
    world.request("r", tasks=3, samples=2, concurrency=10)
    world.settle()
    out = [(r.rollout_id, r.group.task_id, r.group.size, r.sample) for r in world.read("tasks")]
    assert sorted(out) == [(f"r/{t}/{s}", f"r/{t}", 2, s) for t in range(3) for s in range(2)]
    for partition in range(world.partitions):
        for rollout in world.logs["tasks", partition]:
            assert partition_of(rollout.rollout_id, world.partitions) == partition


def test_one_transaction_admits_no_more_than_a_chunk_and_the_next_comes_at_once(world: Any) -> None:
    world.request("r", tasks=10, concurrency=10)
    owner = partition_of("r", world.partitions)
    world.cycle(owner)
    world.cycle(owner)
    assert len(world.read("tasks")) == world.chunk
    assert world.folds[owner].next_timer() == world.now
    world.settle()
    assert len(world.read("tasks")) == 10
    assert world.folds[owner].next_timer() > world.now


def test_runs_share_a_transaction(new_world: Any) -> None:
    world = new_world(partitions=1, chunk=4)
    world.request("long", tasks=100, concurrency=100)
    world.request("short", tasks=100, concurrency=100)
    world.cycle(0)
    world.cycle(0)
    assert Counter(r.run_id for r in world.read("tasks")) == {"long": 2, "short": 2}


def test_no_more_than_the_concurrency_is_out(world: Any) -> None:
    world.request("r", tasks=10, concurrency=3)
    world.settle()
    assert len(world.read("tasks")) == 3
    world.play(2)
    world.settle()
    assert len(world.read("tasks")) == 5


def test_demand_holds_a_run_back_until_it_is_raised(world: Any) -> None:
    world.request("r", tasks=10, concurrency=10, demand=2)
    world.finish()
    assert len(world.read("tasks")) == 2
    assert world.read("runs", RunFinished) == []
    world.write(RunDemandRaised(id="d1", run_id="r", demand=5))
    world.write(RunDemandRaised(id="d2", run_id="r", demand=3))
    world.finish()
    assert len(world.read("tasks")) == 5
    world.restart(partition_of("r", world.partitions), compacted=True)
    world.write(RunDemandRaised(id="d3", run_id="r", demand=99))
    world.finish()
    assert world.finished("r").counts.finished == 10


def test_a_run_that_is_requested_again_is_played_once(world: Any) -> None:
    world.request("r", tasks=2)
    world.request("r", tasks=2)
    world.finish()
    world.request("r", tasks=2)
    world.finish()
    world.restart(partition_of("r", world.partitions), compacted=True)
    world.request("r", tasks=2)
    world.finish()
    assert len(world.read("tasks")) == 2
    assert len(world.read("runs", RunFinished)) == 1


def test_a_cancelled_run_stops_at_the_source_and_ends_with_what_is_out(world: Any) -> None:
    world.request("r", tasks=10, concurrency=3)
    world.settle()
    cancel(world)
    world.settle()
    (told,) = world.logs["control", 0]
    assert isinstance(told, RunCancelled)
    assert told.reason == "enough"
    assert world.read("runs", RunFinished) == []
    world.finish()
    end = world.finished("r")
    assert (end.status, end.planned, end.admitted, end.counts.finished) == ("cancelled", 10, 3, 3)
    assert (end.failure.kind, end.failure.message) == ("run_cancelled", "enough")


def test_a_run_is_cancelled_while_its_data_set_is_loading(world: Any) -> None:
    world.loader.answers["r"] = None
    world.request("r")
    world.settle()
    cancel(world)
    world.settle()
    assert (world.finished("r").status, world.finished("r").admitted) == ("cancelled", 0)
    assert world.loader.jobs[0].cancelled


def test_a_run_that_a_trainer_cancelled_on_control_stops_without_another_word(world: Any) -> None:
    world.request("r", tasks=10, concurrency=3)
    world.settle()
    owner = partition_of("r", world.partitions)
    world.posted[owner].append(RunCancelled(id="t", run_id="r", reason="diverged"))
    world.finish()
    assert world.finished("r").status == "cancelled"
    assert world.logs["control", 0] == []


def test_a_cancelled_run_does_not_wait_for_ever_for_what_is_out(new_world: Any) -> None:
    world = new_world(grace=60)
    world.request("r", tasks=10, concurrency=3, demand=10)
    world.settle()
    cancel(world)
    world.settle()
    owner = partition_of("r", world.partitions)
    world.pass_time(59)
    world.write(RunDemandRaised(id="d", run_id="r", demand=20))  # recorded, and no new beginning of the grace
    world.settle()
    world.restart(owner, compacted=True)
    world.settle()
    assert len(world.loader.jobs) == 1, "the data set of a cancelled run is not loaded again"
    assert world.read("runs", RunFinished) == []
    world.pass_time(1)
    assert world.folds[owner].next_timer() == world.now
    world.settle()
    assert (world.finished("r").admitted, world.finished("r").counts.finished) == (3, 0)


def test_a_run_is_cancelled_at_its_deadline(world: Any) -> None:
    world.request("r", tasks=10, concurrency=3, deadline_seconds=100)
    world.settle()
    owner = partition_of("r", world.partitions)
    world.pass_time(99)
    world.restart(owner, compacted=True)
    world.settle()
    assert world.logs["control", 0] == []
    world.pass_time(1)
    assert world.folds[owner].next_timer() == world.now
    world.settle()
    assert len(world.logs["control", 0]) == 1
    world.finish()
    end = world.finished("r")
    assert (end.status, end.failure.kind) == ("cancelled", "run_deadline")


def test_a_bad_data_set_fails_the_run_with_its_rows(world: Any) -> None:
    world.loader.answers["r"] = rejected()
    world.request("r")
    world.finish()
    end = world.finished("r")
    assert (end.status, end.failure, end.planned) == ("failed", BAD, 0)
    assert [(row.line, row.field) for row in end.bad_rows] == [(2, "task.question")]
    assert world.read("tasks") == []


def test_a_data_set_that_is_gone_after_a_crash_cancels_what_is_left(world: Any) -> None:
    world.request("r", tasks=10, concurrency=3)
    world.settle()
    world.loader.answers["r"] = rejected()
    world.restart(partition_of("r", world.partitions))
    world.finish()
    end = world.finished("r")
    assert (end.status, end.failure.kind, end.counts.finished) == ("cancelled", "invalid_dataset", 3)
    assert len(world.logs["control", 0]) == 1


def test_a_data_set_that_changed_under_a_run_cancels_what_is_left(world: Any) -> None:
    world.request("r", tasks=10, concurrency=3)
    world.settle()
    world.loader.counts["r"] = 11
    world.restart(partition_of("r", world.partitions))
    world.finish()
    end = world.finished("r")
    assert end.status == "cancelled"
    assert "had 10 tasks and now has 11" in end.failure.message


def test_a_request_that_could_not_be_followed_is_refused(world: Any) -> None:
    world.request("a/b")
    world.finish()
    end = world.finished("a/b")
    assert (end.status, end.failure.kind) == ("failed", "invalid_request")
    assert "letters, digits" in end.failure.message
    assert world.read("tasks") == []


def test_what_was_written_to_another_partition_reaches_the_runs_owner(world: Any) -> None:
    home = partition_of("r", world.partitions)
    event = world.request("r", tasks=10, concurrency=3, demand=2)
    world.logs["runs", home].clear()
    for said in (event, RunDemandRaised(id="d", run_id="r", demand=4), event):
        world.write(said, "runs", 1 - home)
    world.finish()
    assert len(world.read("tasks")) == 4
    world.write(RunCancelRequested(id="c", run_id="r", reason="enough"), "runs", 1 - home)
    world.finish()
    assert world.finished("r").status == "cancelled"
    assert [type(said).__name__ for said in world.logs["runs", home]][-1] == "RunFinished"


def test_added_partitions_take_rollouts_of_a_run_whose_owner_stays(world: Any) -> None:
    world.request("r", tasks=40, concurrency=40, demand=10)
    world.settle()
    before = {p: len(world.logs["tasks", p]) for p in range(2)}
    world.grow(5)
    for partition in range(2):
        world.restart(partition)
    world.write(RunDemandRaised(id="d", run_id="r", demand=40))
    world.finish()
    assert world.finished("r").counts.finished == 40
    assert all(world.logs["tasks", p] for p in range(2, 5))
    assert sum(before.values()) == 10
    assert world.logs["runs", partition_of("r", 2)][-1] == world.finished("r")
    assert [entry.key for p in range(5) for entry in world.ledger(p, compacted=True)] == ["r/plan"]


def unreadable(kind: str) -> Record:
    envelope = Envelope(kind, "r", "r", None, None, None, None)
    return Record("runs", 0, 3, b"r", b"{", (), envelope)


def test_an_unreadable_request_fails_its_run(world: Any) -> None:
    record = unreadable("RunRequested")
    fold = world.folds[0]
    fold.begin(0, world.now)
    fold.reject(record, InvalidValue(record.coordinates, "cut short"))
    (output,) = fold.fire(world.now)
    assert (output.event.status, output.event.failure.kind) == ("failed", "unreadable_record")
    assert "runs[0]@3: cut short" in output.event.failure.message


def test_an_unreadable_cancellation_still_cancels(world: Any) -> None:
    world.request("r", tasks=10, concurrency=3)
    world.settle()
    record = unreadable("RunCancelRequested")
    fold = world.folds[partition_of("r", world.partitions)]
    fold.begin(0, world.now)
    fold.reject(record, InvalidValue(record.coordinates, "cut short"))
    assert any(isinstance(output.event, RunCancelled) for output in fold.fire(world.now))


def test_progress_is_published_at_most_every_half_second_and_at_the_end(world: Any) -> None:
    world.request("r", tasks=6, concurrency=2)
    world.settle()
    owner = partition_of("r", world.partitions)
    first = world.read("run-progress", RunProgressed)
    assert [(p.planned, p.admitted) for p in first] == [(6, 2)]
    world.play(1)
    world.settle()
    assert len(world.read("run-progress", RunProgressed)) == 1
    assert world.folds[owner].next_timer() <= world.now.replace(microsecond=500_000)
    world.pass_time(0.5)
    world.settle()
    assert [p.counts.finished for p in world.read("run-progress", RunProgressed)] == [0, 1]
    world.finish()
    assert [p.counts.finished for p in world.read("run-progress", RunProgressed)] == [0, 1, 6]


def test_of_a_run_that_is_over_only_a_note_is_kept(world: Any) -> None:
    world.request("r", tasks=4)
    world.finish()
    owner = partition_of("r", world.partitions)
    (note,) = world.ledger(owner, compacted=True)
    assert isinstance(note, RunPlanRecorded)
    assert note.finished
    assert world.folds[owner].next_timer() is None
    assert world.read("run-progress", RunCountReleased)
