"""Connections between the real client and the broker in memory, and what can go wrong on them."""

import asyncio
import random
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

from aiokafka.conn import CloseReason
from aiokafka.errors import KafkaConnectionError
from aiokafka.util import wait_for
from kafka_model import OUTSIDE, Broker
from virtual_time import PROCESS, Process, VirtualLoop

VERSIONS = dict.fromkeys(range(70), (0, 99))
LATENCIES = (0.0002,) * 4 + (0.0005, 0.001, 0.002, 0.005) * 2 + (0.03, 0.2)


@dataclass
class Fault:
    """What happens to the `passes`-th request of a kind: `lost` and `unanswered` break the connection before and after
    the broker acted; `slow` holds it up for `amount` seconds; `error` answers with code `amount`; `kill` and `pause`
    strike the client's process on its arrival, `kill_after` and `pause_after` when the answer leaves; with `kill_late`
    what a killed process had sent is acted on `amount` seconds after its end, or at the worst moment before: just as
    the next producer of the same transactional id is about to fence it."""

    request: str
    passes: int
    effect: str
    amount: float = 0.0
    name: str | None = None


class Network:
    """All connections to one broker."""

    def __init__(self, loop: VirtualLoop, draw: random.Random, broker: Broker) -> None:
        self.loop = loop
        self.draw = draw
        self.broker = broker
        self.state = "up"
        self.lives = 1
        self.faults: list[Fault] = []
        self.struck: list[Fault] = []
        self.strike: Callable[[Process, str], None] = lambda process, effect: None
        self._connections: list[Connection] = []
        self._held: list[tuple[str | None, Callable[[], None]]] = []
        self._thawed: list[asyncio.Future[None]] = []

    async def create_conn(self, host: str, port: int, **options: Any) -> "Connection":
        """Stands for `aiokafka.conn.create_conn`."""
        await asyncio.sleep(self.latency())
        if self.state == "frozen":
            thawed = self.loop.create_future()
            self._thawed.append(thawed)
            await wait_for(thawed, options["request_timeout_ms"] / 1000)
        if self.state == "down":
            raise ConnectionRefusedError("the broker is down")
        connection = Connection(self, options)
        self._connections.append(connection)
        return connection

    def latency(self) -> float:
        return self.draw.choice(LATENCIES)

    def crash(self) -> None:
        """The broker is killed: every connection breaks."""
        self.state = "down"
        self.lives += 1
        self._held.clear()
        connections, self._connections = self._connections, []
        for connection in connections:
            connection.break_off()

    def freeze(self) -> None:
        """The broker answers no more, and keeps its connections."""
        self.state = "frozen"

    def heal(self) -> None:
        """The broker is up again, if it was not."""
        state, self.state = self.state, "up"
        if state == "down":
            self.broker.restart()
        for thawed in self._thawed:
            if not thawed.done():
                thawed.set_result(None)
        self._thawed.clear()
        for connection in list(self._connections):
            connection.serve()

    def of(self, process: Process) -> list["Connection"]:
        return [connection for connection in self._connections if connection.process is process]

    def forget(self, connection: "Connection") -> None:
        if connection in self._connections:
            self._connections.remove(connection)

    def hold(self, request: Any, fault: Fault | None, act: Callable[[], None]) -> None:
        """Act on what a killed process had sent: after a while, or just before its successor fences it."""
        late_fence = hasattr(request, "transaction_timeout_ms")  # worst when it hits an owner that is well
        held = (None if late_fence else getattr(request, "transactional_id", None), act)
        self._held.append(held)
        wait = fault.amount if fault else 0.0
        self.loop.call_later(wait, self._act_on, held, context=OUTSIDE)

    def release(self, transactional_id: str) -> None:
        for held in [held for held in self._held if held[0] == transactional_id]:
            self._act_on(held)

    def _act_on(self, held: tuple[str | None, Callable[[], None]]) -> None:
        if held in self._held:
            self._held.remove(held)
            held[1]()

    def fault_for(self, request: str, process: Process | None) -> Fault | None:
        """The fault that this request meets, if its turn has come."""
        for fault in self.faults:
            if fault.request == request and (fault.name is None or (process and process.name == fault.name)):
                fault.passes -= 1
                if fault.passes <= 0:
                    self.faults.remove(fault)
                    self.struck.append(fault)
                    return fault
        return None


class Connection:
    """One connection: requests are served one after another, in order, as a broker does."""

    def __init__(self, network: Network, options: dict[str, Any]) -> None:
        self._network = network
        self._loop = network.loop
        self._client = options["client_id"]
        self._timeout = options["request_timeout_ms"] / 1000
        self._on_close = options.get("on_close")
        self._context = copy_context()
        self.process = PROCESS.get()
        self._open = True
        self._answers: list[asyncio.Future[Any]] = []
        self._arrives = 0.0
        self._inbox: deque[tuple[Any, asyncio.Future[Any]]] = deque()
        self._busy = False

    def connected(self) -> bool:
        return self._open

    def send(self, request: Any, expect_response: bool = True) -> Any:
        if not self._open:
            raise KafkaConnectionError("the connection is closed")
        prepared = request.prepare(VERSIONS)
        answer = self._loop.create_future()
        self._answers.append(answer)
        if self.process is None or self.process.alive:
            self._arrives = max(self._arrives, self._loop.time() + self._network.latency())
            self._loop.call_at(self._arrives, self._arrive, prepared, answer, context=OUTSIDE)
        return wait_for(answer, self._timeout)

    def close(self, reason: Any = None, exc: BaseException | None = None) -> Any:
        closed = self._loop.create_future()
        closed.set_result(None)
        if self._open:
            self._open = False
            self._network.forget(self)
            for answer in self._answers:
                if not answer.done():
                    answer.set_exception(KafkaConnectionError("the connection was closed"))
            self._answers.clear()
            if self._on_close is not None:
                self._on_close(self, reason)
        return closed

    def break_off(self) -> None:
        """The other side is gone; the client learns of it as of any event, in its own time."""
        self._inbox.clear()
        self._network.forget(self)
        self._loop.call_soon(self.close, CloseReason.CONNECTION_BROKEN, context=self._context.copy())

    def serve(self) -> None:
        while self._inbox and not self._busy and self._network.state == "up":
            self._busy = True
            self._serve(*self._inbox.popleft())

    def _arrive(self, request: Any, answer: "asyncio.Future[Any]") -> None:
        if self._network.state != "down":
            self._inbox.append((request, answer))
            self.serve()

    def _serve(self, request: Any, answer: "asyncio.Future[Any]") -> None:
        network, process = self._network, self.process
        kind = type(request).__name__.partition("Request")[0]
        if kind == "InitProducerId":
            network.release(request.transactional_id)
        fault = network.fault_for(kind, process)
        effect = fault.effect if fault else ""
        if effect == "lost":
            self.break_off()
            return
        if effect in ("kill", "pause") and process is not None:
            network.strike(process, effect)
        if effect == "kill_late" and process is not None:
            network.strike(process, "kill")
            network.hold(request, fault, lambda: self._handle(request, answer, ""))
            return
        if effect == "slow":
            assert fault is not None
            life = network.lives  # what a broker was busy with ends with it

            def at_last() -> None:
                if network.lives == life:
                    self._handle(request, answer, "")

            self._loop.call_later(fault.amount, at_last, context=OUTSIDE)
            return
        if effect == "error":
            assert fault is not None
            refusal = _refusal(request, int(fault.amount))
            self._answered(answer, refusal)
            return
        self._handle(request, answer, effect)

    def _handle(self, request: Any, answer: "asyncio.Future[Any]", effect: str) -> None:
        def reply(response: Any) -> None:
            if effect == "unanswered":
                self.break_off()
                return
            if effect.endswith("_after") and self.process is not None:
                self._network.strike(self.process, effect.removesuffix("_after"))
            self._answered(answer, response)

        if self._network.state == "down":
            return
        self._network.broker.handle(request, self._client, reply)

    def _answered(self, answer: "asyncio.Future[Any]", response: Any) -> None:
        self._busy = False
        self._loop.call_later(self._network.latency(), self._deliver, answer, response, context=OUTSIDE)
        self.serve()

    def _deliver(self, answer: "asyncio.Future[Any]", response: Any) -> None:
        if self._open and not answer.done():
            answer.set_result(response)
        if answer in self._answers:
            self._answers.remove(answer)


def _refusal(request: Any, error: int) -> Any:
    """An answer that carries nothing but an error code."""
    name = type(request).__name__.partition("Request")[0]
    answers = {
        "Produce": lambda: (
            [(t, [(p, error, -1, -1, 0) for p, _data in partitions]) for t, partitions in request.topics],
            0,
        ),
        "AddPartitionsToTxn": lambda: (0, [(t, [(p, error) for p in ps]) for t, ps in request.topics]),
        "EndTxn": lambda: (0, error),
        "Heartbeat": lambda: (0, error),
        "InitProducerId": lambda: (0, error, -1, -1),
    }
    return request.RESPONSE_TYPE(*answers[name]())
