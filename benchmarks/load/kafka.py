"""Model calls through Kafka at a fixed rate, or all at once; prints what came of them as JSON.

    python -m benchmarks.load.kafka --bootstrap 127.0.0.1:9092 --prefix odradek. --model NAME --rate 500 --seconds 10

*Added* is the time from a request's sending to its answer's arrival at a reader of committed records, less the time for
which the gateway waited for the model. With rate 0, `--calls` of them are written first and then answered as fast as it
goes: from the first answer to the last.
"""

import argparse
import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import uvloop
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition

from benchmarks.load.http import quantiles
from odradek_runtime.partitioning import partition_of
from odradek_schemas.codec import encode
from odradek_schemas.events import ModelCallRequested
from odradek_schemas.messages import Message

PATIENCE_SECONDS = 60.0


class Calls:
    """Sends calls, and hears their answers."""

    def __init__(
        self, producer: AIOKafkaProducer, prefix: str, partitions: int, model: str, words: str
    ) -> None:
        self._producer = producer
        self._topic = f"{prefix}model-calls"
        self._partitions = partitions
        self._model = model
        self._messages = [Message(role="user", content=words)]
        self._run = f"load-{uuid.uuid4().hex[:8]}"
        self.sent: dict[str, float] = {}
        self.added: list[float] = []
        self.arrived: list[float] = []

    async def send(self, number: int) -> None:
        rollout = f"{self._run}/{number}/0"
        event = ModelCallRequested(
            id=f"{rollout}/1/1",
            run_id=self._run,
            rollout_id=rollout,
            model=self._model,
            messages=self._messages,
            deadline=datetime.now(UTC) + timedelta(seconds=120),
        )
        record = encode(event, "load")
        self.sent[event.id] = time.perf_counter()
        await self._producer.send(
            self._topic,
            record.value,
            record.key,
            partition=partition_of(rollout, self._partitions),
            headers=list(record.headers),
        )

    def hear(self, value: bytes | None) -> None:
        told = orjson.loads(value or b"{}")
        sent = self.sent.pop(told.get("call_id"), None)
        if sent is None:
            return
        now = time.perf_counter()
        assert told["type"] == "ModelCallCompleted", told
        self.arrived.append(now)
        self.added.append(now - sent - told["latency_ms"] / 1000)


async def load(given: argparse.Namespace) -> dict[str, Any]:
    async with _clients(given) as (producer, consumer):
        calls = Calls(producer, given.prefix, given.partitions, given.model, "x" * given.characters)
        count = int(given.rate * given.seconds) if given.rate else given.calls
        hearing = asyncio.create_task(_hear(consumer, calls, count))
        await _send(calls, count, given.rate)
        await producer.flush()
        await asyncio.wait_for(hearing, PATIENCE_SECONDS)
    took = calls.arrived[-1] - calls.arrived[0]
    return {
        "answered": len(calls.arrived),
        "failed": len(calls.sent),
        "seconds": round(took, 3),
        "added": quantiles(calls.added),
    }


async def _send(calls: Calls, count: int, rate: float) -> None:
    start = time.perf_counter()
    for number in range(count):
        if rate and (wait := start + number / rate - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        await calls.send(number)


async def _hear(consumer: AIOKafkaConsumer, calls: Calls, count: int) -> None:
    while len(calls.arrived) < count:
        for records in (await consumer.getmany(timeout_ms=100)).values():
            for record in records:
                calls.hear(record.value)


@asynccontextmanager
async def _clients(given: argparse.Namespace) -> AsyncIterator[tuple[AIOKafkaProducer, AIOKafkaConsumer]]:
    async with AsyncExitStack() as stack:
        producer = await stack.enter_async_context(AIOKafkaProducer(bootstrap_servers=given.bootstrap))
        consumer = await stack.enter_async_context(
            AIOKafkaConsumer(
                bootstrap_servers=given.bootstrap, isolation_level="read_committed", fetch_max_wait_ms=5
            )
        )
        numbers = [TopicPartition(f"{given.prefix}model-results", n) for n in range(given.partitions)]
        consumer.assign(numbers)
        await consumer.seek_to_end(*numbers)
        for number in numbers:
            await consumer.position(number)
        yield producer, consumer


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--model", required=True)
    parser.add_argument("--rate", type=float, default=0.0, help="calls per second; 0: all at once")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--calls", type=int, default=5000, help="at rate 0")
    parser.add_argument("--characters", type=int, default=400, help="of each prompt")
    print(orjson.dumps(uvloop.run(load(parser.parse_args()))).decode())


if __name__ == "__main__":
    main()
