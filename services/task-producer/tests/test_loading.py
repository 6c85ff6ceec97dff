import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from odradek.environment import Environment
from odradek.plugins import UnknownPlugin
from odradek.rows import TaskRow
from odradek_runtime.blobs import FileBlobStore, blob_uri
from odradek_schemas.base import JsonObject
from odradek_schemas.events import Dataset as DatasetReference
from odradek_schemas.events import Event, RunRequested
from odradek_schemas.messages import Message, Sampling
from odradek_schemas.rollouts import Reward, Trajectory
from odradek_task_producer import datasets
from odradek_task_producer.datasets import Dataset
from odradek_task_producer.events import DatasetLoaded, DatasetRejected, TasksPrepared
from odradek_task_producer.loading import DatasetLoader, Job
from odradek_task_producer.rows import PreparedTask, rollout_of
from odradek_task_producer.settings import ProducerSettings
from odradek_task_producer.tasks import BLOCK


class Toy(Environment):
    name = "toy"

    class Task(BaseModel):
        question: str

    class Answer(BaseModel):
        expected: str

    class State(BaseModel):
        steps: int = 0

    def split(self, row: JsonObject) -> TaskRow:
        if "explode" in row:
            raise RuntimeError("boom")
        return super().split(row)

    def prompt(self, task: Any) -> list[Message]:
        return [Message(role="user", content=task.question)]

    def verify(self, trajectory: Trajectory, answer: Any) -> Reward:
        raise NotImplementedError


def row(number: int, **fields: Any) -> dict[str, Any]:
    return {"task": {"question": f"Q{number}"}, "answer": {"expected": f"A{number}"}, **fields}


def lines(*rows: Any) -> bytes:
    return b"".join((r if isinstance(r, bytes) else json.dumps(r).encode()) + b"\n" for r in rows)


def seal(answer: JsonObject) -> str:
    return f"sealed {answer['expected']}"


class Bench:
    """A loader on a blob store, and what it posts."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.blobs = FileBlobStore(folder)
        self.posted: asyncio.Queue[Event] = asyncio.Queue()
        self.find: Callable[[str, JsonObject], Environment] = lambda name, settings: Toy()
        self.settings = ProducerSettings(**settings)

    async def load(self, uri: str, **fields: Any) -> Event:
        await self.start(uri, **fields)
        return await self.next()

    async def start(self, uri: str, **fields: Any) -> Job:
        self.request = RunRequested(
            id="r",
            run_id="r",
            environment="toy",
            model="m",
            dataset=DatasetReference(uri=uri, name="toy.jsonl"),
            **fields,
        )
        loader = DatasetLoader(self.blobs, seal, self.settings, self.find)
        return loader.load(self.request, self.posted.put_nowait)

    async def load_bytes(self, content: bytes, **fields: Any) -> Event:
        return await self.load(blob_uri(await self.blobs.put(content)), **fields)

    async def next(self) -> Event:
        return await asyncio.wait_for(self.posted.get(), 20)

    async def task(self, loaded: Event, index: int) -> PreparedTask:
        assert isinstance(loaded, DatasetLoaded), loaded
        task: PreparedTask | None = loaded.tasks.get(index)
        while task is None:
            assert isinstance(await self.next(), TasksPrepared)
            task = loaded.tasks.get(index)
        return task


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "blobs")


def rejection(event: Event) -> DatasetRejected:
    assert isinstance(event, DatasetRejected), event
    return event


async def test_rows_become_rollouts_with_their_answer_sealed(bench: Bench) -> None:
    loaded = await bench.load_bytes(lines(row(0), row(1)), samples=2, seed=7, sampling=Sampling(top_p=0.5))
    task = await bench.task(loaded, 1)
    one, two = (rollout_of(task, bench.request, sample, bench.request.time) for sample in (0, 1))
    assert (one.rollout_id, two.rollout_id) == ("r/1/0", "r/1/1")
    assert one.task == {"question": "Q1"}
    assert one.sealed_answer == two.sealed_answer == "sealed A1"
    assert [message.content for message in one.messages] == ["Q1"]
    assert (one.group.task_id, one.group.size, one.session) == ("r/1", 2, True)
    assert one.harness == Toy.harness
    assert one.seed != two.seed
    assert one == rollout_of(task, bench.request, 0, bench.request.time)


async def test_what_the_run_asks_of_sampling_and_harness_wins_over_the_row(bench: Bench) -> None:
    content = lines(row(0, sampling={"temperature": 0.3, "top_p": 0.9}))
    loaded = await bench.load_bytes(content, sampling=Sampling(temperature=1.0), harness="single_turn")
    task = await bench.task(loaded, 0)
    assert task.sampling == Sampling(temperature=1.0, top_p=0.9)
    assert task.harness == "single_turn"


async def test_every_bad_row_is_reported_with_line_field_and_reason(bench: Bench) -> None:
    wrong_type, no_task = row(1), {"answer": {"expected": "x"}}
    wrong_type["task"]["question"] = 5
    content = lines(row(0), b"", wrong_type, b'{"task": ', [1], no_task, {"explode": 1}, row(2))
    event = rejection(await bench.load_bytes(content))
    assert event.failure.kind == "invalid_dataset"
    assert "5 of 7 rows of toy.jsonl" in event.failure.message
    found = {bad.line: (bad.field, bad.reason) for bad in event.bad_rows}
    assert sorted(found) == [3, 4, 5, 6, 7]
    assert found[3][0] == "task.question"
    assert "is not JSON" in found[4][1]
    assert "must be a JSON object" in found[5][1]
    assert "boom" in found[7][1]


async def test_of_many_bad_rows_the_first_are_named_and_all_counted(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bad_rows_reported=3)
    event = rejection(await bench.load_bytes(lines(*[{}] * 10)))
    assert [bad.line for bad in event.bad_rows] == [1, 2, 3]
    assert "10 of 10" in event.failure.message


async def test_a_limit_takes_the_first_tasks_and_asks_nothing_of_the_rest(bench: Bench) -> None:
    loaded = await bench.load_bytes(lines(row(0), b"", row(1), b"not a row"), limit=2)
    assert isinstance(loaded, DatasetLoaded), loaded
    assert len(loaded.tasks) == 2


async def test_a_data_set_without_tasks_is_refused(bench: Bench) -> None:
    assert "holds no tasks" in rejection(await bench.load_bytes(b"\n \n")).failure.message


async def test_a_file_is_read_where_it_lies(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "with space.jsonl"
    path.write_bytes(lines(row(0)) + json.dumps(row(1)).encode())  # no newline at the end
    loaded = await bench.load(path.as_uri())
    path.unlink()  # the copy stays
    assert (await bench.task(loaded, 1)).task == {"question": "Q1"}


@pytest.mark.parametrize(
    ("uri", "kind", "words"),
    [
        ("file:///nowhere/tasks.jsonl", "invalid_dataset", "No such file"),
        ("https://example.com/x", "invalid_dataset", "expected blob:"),
        ("blob:long/2026-11-29/sha256:" + "0" * 64, "blob_unreadable", "toy.jsonl"),
    ],
)
async def test_a_data_set_that_can_not_be_had_is_refused_with_the_reason(
    bench: Bench, uri: str, kind: str, words: str
) -> None:
    failure = rejection(await bench.load(uri)).failure
    assert failure.kind == kind
    assert words in failure.message


async def test_an_unknown_environment_is_refused(bench: Bench) -> None:
    def unknown(name: str, settings: JsonObject) -> Environment:
        raise UnknownPlugin("odradek.environments", name, ["mcqa"])

    bench.find = unknown
    failure = rejection(await bench.load_bytes(lines(row(0)))).failure
    assert failure.kind == "unknown_environment"
    assert "mcqa" in failure.message


async def test_a_store_that_is_away_for_a_moment_is_asked_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odradek_task_producer.loading.FIRST_BACKOFF_SECONDS", 0.001)
    uri = blob_uri(await bench.blobs.put(lines(row(0))))
    away = [ConnectionError("away"), ConnectionError("away")]
    get = bench.blobs.get

    async def flaky(reference: str) -> bytes:
        if away:
            raise away.pop()
        return await get(reference)

    monkeypatch.setattr(bench.blobs, "get", flaky)
    assert isinstance(await bench.load(uri), DatasetLoaded)


async def test_a_data_set_that_takes_too_long_is_refused(tmp_path: Path) -> None:
    class Slow(FileBlobStore):
        async def get(self, reference: str) -> bytes:
            await asyncio.sleep(60)
            raise AssertionError

    bench = Bench(tmp_path, dataset_timeout_seconds=0.05)
    bench.blobs = Slow(tmp_path)
    assert "within 0.05 s" in rejection(await bench.load("blob:x")).failure.message


async def test_tasks_are_prepared_ahead_from_where_a_run_goes_on(bench: Bench) -> None:
    begin, end = BLOCK + 7, 3 * BLOCK
    prepared = []

    class Watched(Toy):
        def prompt(self, task: Any) -> list[Message]:
            prepared.append(task.question)
            return super().prompt(task)

    bench.find = lambda name, settings: Watched()
    loaded = await bench.load_bytes(lines(*[row(number) for number in range(end)]))
    prepared.clear()  # the check is over
    for index in range(begin, end):
        assert (await bench.task(loaded, index)).task == {"question": f"Q{index}"}
    assert prepared == [f"Q{index}" for index in range(begin, end)]


async def test_an_environment_that_fails_later_ends_the_run_with_the_reason(bench: Bench) -> None:
    class Fickle(Toy):
        split_rows = 0

        def split(self, row: JsonObject) -> TaskRow:
            self.split_rows += 1
            if self.split_rows > 2:
                raise RuntimeError("changed its mind")
            return super().split(row)

    environment = Fickle()
    bench.find = lambda name, settings: environment
    loaded = await bench.load_bytes(lines(row(0), row(1)))
    assert isinstance(loaded, DatasetLoaded), loaded
    assert loaded.tasks.get(0) is None
    failure = rejection(await bench.next()).failure
    assert failure.kind == "invalid_dataset"
    assert "changed its mind" in failure.message


async def test_a_cancelled_load_says_nothing_and_stops_checking(bench: Bench) -> None:
    loop = asyncio.get_running_loop()
    began, may_go_on = asyncio.Event(), asyncio.Event()
    lines_split = []

    class Counting(Toy):
        def split(self, row: JsonObject) -> TaskRow:
            lines_split.append(row)
            loop.call_soon_threadsafe(began.set)
            asyncio.run_coroutine_threadsafe(may_go_on.wait(), loop).result(10)
            return super().split(row)

    bench.find = lambda name, settings: Counting()
    job = await bench.start(blob_uri(await bench.blobs.put(lines(*[row(number) for number in range(100)]))))
    await asyncio.wait_for(began.wait(), 10)
    job.cancel()
    may_go_on.set()
    await loop.shutdown_default_executor()  # the thread has ended
    assert len(lines_split) == 1
    assert bench.posted.empty()


def test_a_row_with_a_million_neighbours_costs_sixteen_bytes(tmp_path: Path) -> None:
    file = datasets._spool_bytes(b"{}\n" * 100_000)
    dataset = Dataset(file, None)
    assert len(dataset) == 100_000
    assert dataset.line(99_999) == b"{}\n"
    held = sum(part.itemsize * len(part) for part in vars(dataset).values() if hasattr(part, "itemsize"))
    assert held == 16 * 100_000
