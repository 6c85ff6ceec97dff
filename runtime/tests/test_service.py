"""A service as a process: its probes, its metrics, `control`, SIGTERM, and how it says what is wrong."""

import asyncio
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from runtime_lab import CALLS, Echo, Lab, Program, Tally, call, until, until_async

from odradek_runtime.brokers import Brokers
from odradek_runtime.topics import apply_topics
from odradek_schemas.events import PolicyUpdated, RunCancelled
from tests.support.s3 import S3Server, s3_server

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("all_topics")]


@pytest.fixture
async def all_topics(lab: Lab) -> None:
    """A service looks at all the topics before it starts."""
    await apply_topics(Brokers(lab.bootstrap), lab.prefix, lab.partitions)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def relay(port: int, target: str) -> AsyncIterator[None]:
    """A broker's address that is there from now on."""
    host, _, number = target.partition(":")

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await reader.read(65536):
                writer.write(chunk)
        writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        onward, back = await asyncio.open_connection(host, int(number))
        await asyncio.gather(pump(reader, back), pump(onward, writer))

    server = await asyncio.start_server(connected, "127.0.0.1", port)
    try:
        yield
    finally:
        server.close()


async def get(port: int, path: str) -> tuple[int, str]:
    """Status and body; status 0 while nobody listens."""

    def ask() -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    return await asyncio.to_thread(ask)


async def answers(program: Program, port: int, path: str, status: int = 200) -> None:
    async def ask() -> bool:
        assert program.process.poll() is None, program.log.read_text()[-3000:]
        return (await get(port, path))[0] == status

    await until_async(ask)


def policy(version: str) -> PolicyUpdated:
    return PolicyUpdated(id=f"m/{version}", model="m", version=version)


async def test_a_service_from_its_start_to_sigterm(lab: Lab) -> None:
    """Caught: probes that say nothing, control that is not read, a SIGTERM that drops what is in flight."""
    port = free_port()
    await lab.send("control", [policy("1")])
    program = lab.start_program("echo", "service", http_port=port, delay=0.5)
    await answers(program, port, "/healthz")
    await answers(program, port, "/readyz")
    await lab.send(CALLS, [call(0)])
    (first,) = await lab.answered(1)
    assert first.event.message.content == "1"  # what control held before it began
    await lab.send("control", [policy("2")])

    asked = 1

    async def told() -> bool:
        nonlocal asked
        asked += 1
        await lab.send(CALLS, [call(asked - 1)])
        return (await lab.answered(asked))[-1].event.message.content == "2"

    await until_async(told)
    status, metrics = await get(port, "/metrics")
    assert status == 200
    for name in ("backlog_records", "in_flight_records", "cycle_seconds_bucket", "transactions_total", "records_in_total",
                 "records_out_total", "owned_partitions", "acquisitions_total", "loop_delay_seconds_bucket",
                 "worker_info", "ready", "rebalances_total", "group_silence_seconds"):  # fmt: skip
        assert f"odradek_{name}" in metrics
    assert "process_cpu_seconds_total" in metrics
    await lab.send(CALLS, [call(asked + n) for n in range(8)], partition=1)
    await until_async(lambda: _reports(port, 'odradek_in_flight_records{partition="1"} 8.0'))
    program.signal(signal.SIGTERM)
    await answers(program, port, "/readyz", 503)
    assert await program.ended() == 0
    assert len(await lab.answers()) == asked + 8
    assert [position.unfinished for position in await lab.committed("echo")] == [(), ()]
    assert (await lab.committed("echo"))[1].offset == 8


async def _reports(port: int, line: str) -> bool:
    return line in (await get(port, "/metrics"))[1]


async def test_says_what_is_wrong_in_one_line_and_ends(lab: Lab, s3: S3Server, tmp_path: Path) -> None:
    """Caught: a traceback for what a person must put right; a start that waits for ever."""
    (tmp_path / "file").touch()
    nobody = f"127.0.0.1:{free_port()}"
    wrong: dict[str, dict[str, Any]] = {
        "is Kafka running": {"bootstrap_servers": nobody, "broker_timeout_seconds": 1},
        "Set ODRADEK_PARTITIONS=2, or run `odradek topics grow --partitions 3`": {"partitions": 3},
        "odradek topics apply": {"topic_prefix": "nobody."},
        "expected file:///": {"blob_store": "ftp://x"},
        "there is no such bucket": {"blob_store": "s3://nowhere"},
        "must name a folder that can be made": {"blob_store": (tmp_path / "file" / "blobs").as_uri()},
    }
    for words, settings in wrong.items():
        program = lab.start_program("echo", "service", **settings)
        assert await program.ended() == 1
        (line,) = program.events("service ended")
        assert words in line["error"]
        assert "Traceback" not in program.log.read_text()


async def test_a_worker_that_starts_waits_for_a_broker_that_is_away(lab: Lab) -> None:
    """Caught: workers that end while a broker restarts, until nobody starts them any more."""
    port, http = free_port(), free_port()
    program = lab.start_program(
        "echo", "service", bootstrap_servers=f"127.0.0.1:{port}", http_port=http, broker_timeout_seconds=30
    )
    await until(lambda: bool(program.events("waiting for the broker")))
    async with relay(port, lab.bootstrap):
        await answers(program, http, "/readyz")
        await lab.send(CALLS, [call(0)])
        await lab.answered(1)


async def test_a_worker_that_starts_waits_for_a_blob_store_that_is_away(
    lab: Lab, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, http = free_port(), free_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{port}")
    bucket = s3.make_bucket(f"starts-{lab.prefix[:-1]}")  # moto's servers of one process share what they hold
    program = lab.start_program("echo", "service", blob_store=f"s3://{bucket}", http_port=http)
    await until(lambda: bool(program.events("waiting for the blob store")))
    with s3_server(port):
        await answers(program, http, "/readyz")


async def test_a_port_that_is_taken_ends_the_service_and_is_named(lab: Lab) -> None:
    """Caught: a worker that goes on without its probes."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        program = lab.start_program("echo", "service", http_port=port)
        assert await program.ended() != 0
        assert str(port) in program.log.read_text()


async def test_a_thread_that_hangs_does_not_keep_a_drained_worker(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: a worker that has left its group, whose process never ends, so that nobody starts another."""
    monkeypatch.setenv("PROGRAM_HANGS", "1")
    program = lab.start_program("echo", "service")
    await lab.send(CALLS, [call(0)])
    await lab.answered(1)
    program.signal(signal.SIGTERM)
    assert await program.ended() == 0
    assert "most recent call first" in program.log.read_text()


async def test_a_client_that_does_not_read_its_answers_does_not_keep_a_service(lab: Lab) -> None:
    """Caught: a server that waits for a client for ever, with its worker drained."""
    port = free_port()
    program = lab.start_program("echo", "service", http_port=port)
    await answers(program, port, "/readyz")
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", port))
        client.setblocking(False)
        refused = 0

        async def stuffed() -> bool:
            """Whether for a while no more requests fit: the server, whose answers nobody reads, reads no more."""
            nonlocal refused
            try:
                client.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 3000)
                refused = 0
            except BlockingIOError:
                refused += 1
            return refused > 40

        await until_async(stuffed)
        program.signal(signal.SIGTERM)
        assert await program.ended() == 0


@pytest.mark.parametrize("shape", ["concurrent", "stateful"])
async def test_control_reaches_owners_of_now_and_of_later(lab: Lab, shape: str) -> None:
    """Caught: a cancelled run that a number acquired later does not know of."""
    echo, tally = Echo(), Tally()
    running = lab.start(echo.processor() if shape == "concurrent" else tally.processor())
    before = RunCancelled(id="r1/cancel", run_id="r1", reason="asked to")
    running.worker.control(before)
    await lab.owning(running)
    after = RunCancelled(id="r2/cancel", run_id="r2", reason="asked to")
    running.worker.control(after)

    def told() -> list[list[str]]:
        units = echo.handlers if shape == "concurrent" else tally.folds
        return [[event.id for event in unit.controls] for unit in units]

    await until(lambda: told() == [["r1/cancel", "r2/cancel"]] * 2)
