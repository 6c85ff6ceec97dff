"""A Kafka broker in memory: the rules that the runtime stands on, answering the real client's own requests.

One node. Latencies are drawn; the log, the transactions, the group and its offsets survive a restart, waiting
requests do not. What a broker checks and the runtime never does (authorisation, quotas) is left out.
"""

import itertools
import random
from collections import defaultdict
from collections.abc import Callable
from contextvars import Context
from typing import Any

from aiokafka.record.default_records import DefaultRecordBatch
from kafka_groups import Group
from kafka_log import Entry, Partition
from kafka_transactions import Transaction, Transactions
from virtual_time import VirtualLoop

NO_ERROR, LOADING, METADATA_TOO_LARGE = 0, 14, 12
NODE, HOST, PORT = 0, "broker", 9092
DELAYS = (0.0005,) * 8 + (0.002,) * 8 + (0.01, 0.01, 0.05, 0.8)
FORGETS = 0.3
OUTSIDE = Context()
"""What the broker does is done in nobody's process."""

Reply = Callable[[Any], None]


class Broker:
    """Topics, transactions and groups; `handle` answers one request."""

    def __init__(self, loop: VirtualLoop, draw: random.Random, topics: dict[str, int]) -> None:
        self.loop = loop
        self.draw = draw
        self.topics = topics
        self.logs = {(topic, n): Partition(f"{topic}[{n}]") for topic in topics for n in range(topics[topic])}
        self.transactions = Transactions(self.later, self._mark)
        names = itertools.count(1)  # of a group that was forgotten, too
        self.groups: dict[str, Group] = defaultdict(lambda: Group(self.later, names))
        self.loading = False
        self.decided: Callable[[], None] = lambda: None
        self._waiting: list[Callable[[], None]] = []
        self._outsiders = 9000

    def later(self, act: Callable[[], None], seconds: float | None) -> None:
        """Do something after `seconds`, or as soon as a broker gets round to it."""
        wait = self.draw.choice(DELAYS) if seconds is None else seconds
        self.loop.call_later(wait, act, context=OUTSIDE)

    def write(
        self, topic: str, partition: int, entries: list[Entry], end: bool | None = None
    ) -> Callable[[bool], None]:
        """Append from outside; with `end` None for good, else in a transaction that the result commits or aborts."""
        log = self.logs[topic, partition]
        if end is None:
            log.write(entries)
            self._wake()
            return lambda commit: None
        self._outsiders += 1
        producer = self._outsiders
        log.write(entries, producer)

        def mark(commit: bool) -> None:
            log.mark(producer, 0, commit)
            self._wake()

        return mark

    def restart(self) -> None:
        """Come back after a crash: what waited is gone, and sometimes what is known of groups (as Kafka 4.2.1 may)."""
        self._waiting.clear()
        if self.draw.random() < FORGETS:
            self.groups.clear()
        self.loading = True
        self.later(self._loaded, self.draw.choice((0.0, 0.2, 1.0)))

    def _loaded(self) -> None:
        self.loading = False
        for group in self.groups.values():
            group.restarted()

    def handle(self, request: Any, client: str, reply: Reply) -> None:
        """Answer `request`, now or later."""
        answer = getattr(self, f"_on_{type(request).__name__.partition('_')[0]}")
        answer(request, client, lambda *fields: reply(request.RESPONSE_TYPE(*fields)))

    def _on_MetadataRequest(self, request: Any, client: str, reply: Any) -> None:  # noqa: N802
        wanted = list(self.topics) if request.topics is None else request.topics
        topics = [
            (
                NO_ERROR,
                topic,
                False,
                [(NO_ERROR, n, NODE, [NODE], [NODE], []) for n in range(self.topics[topic])],
            )
            for topic in wanted
        ]
        reply(0, [(NODE, HOST, PORT, None)], "cluster", NODE, topics)

    def _on_FindCoordinatorRequest(self, request: Any, client: str, reply: Any) -> None:  # noqa: N802
        reply(0, NO_ERROR, None, NODE, HOST, PORT)

    def _on_OffsetRequest(self, request: Any, client: str, reply: Any) -> None:  # noqa: N802
        def offset(topic: str, partition: int, time: int) -> int:
            log = self.logs[topic, partition]
            if time == -2:
                return log.start
            return log.stable if request.isolation_level else log.end

        reply(0, [
            (topic, [(p, NO_ERROR, -1, offset(topic, p, time)) for p, time in partitions])
            for topic, partitions in request.topics
        ])  # fmt: skip

    def _on_FetchRequest(self, request: Any, client: str, reply: Any) -> None:  # noqa: N802
        committed = bool(request.isolation_level)
        most = self.draw.choice((1, 2, 100))
        done = False

        def look(give_up: bool) -> bool:
            nonlocal done
            if done:
                return True
            found, topics = give_up, []
            for topic, partitions in request.topics:
                answers = []
                for partition, _epoch, offset, _start, _bytes in partitions:
                    log = self.logs[topic, partition]
                    error, data, aborted = log.fetch(offset, committed, most)
                    found = found or bool(error or data)
                    answers.append((partition, error, log.end, log.stable, log.start, aborted, -1, data))
                topics.append((topic, answers))
            if found:
                done = True
                reply(0, NO_ERROR, 0, topics)
            return found

        if not look(give_up=False):
            waiting = lambda: look(give_up=False)  # noqa: E731
            self._waiting.append(waiting)
            self.later(lambda: look(give_up=True), request.max_wait_time / 1000)

    def _on_ProduceRequest(self, request: Any, client: str, reply: Any) -> None:  # noqa: N802
        answers = []
        for topic, partitions in request.topics:
            results = []
            for partition, data in partitions:
                error, base = self._append(topic, partition, bytes(data))
                results.append((partition, error, base, -1, 0))
            answers.append((topic, results))
        self._wake()
        reply(answers, 0)

    def _append(self, topic: str, partition: int, data: bytes) -> tuple[int, int]:
        batch = DefaultRecordBatch(data)
        if error := self.transactions.holds(batch.producer_id, batch.producer_epoch, (topic, partition)):
            return error, -1
        return self.logs[topic, partition].produce(data)

    def _on_InitProducerIdRequest(self, request: Any, client: str, reply: Any) -> None:  # noqa: N802
        if self.loading:
            reply(0, LOADING, -1, -1)
            return
        reply(0, *self.transactions.start(request.transactional_id, request.transaction_timeout_ms / 1000))

    def _on_AddPartitionsToTxnRequest(self, request: Any, client: str, reply: Any) -> None:  # noqa: N802
        targets = {(topic, partition) for topic, partitions in request.topics for partition in partitions}
        error = self.transactions.add(request.transactional_id, request.producer_epoch, targets)
        reply(0, [(topic, [(p, error) for p in partitions]) for topic, partitions in request.topics])

    def _on_EndTxnRequest(self, request: Any, client: str, reply: Any) -> None:  # noqa: N802
        error = self.transactions.end(
            request.transactional_id, request.producer_epoch, request.transaction_result
        )
        reply(0, error)

    def _on_OffsetCommitRequest(self, request: Any, client: str, reply: Any) -> None:  # noqa: N802
        offsets = {(topic, p): (o, metadata) for topic, parts in request.topics for p, o, metadata in parts}
        if self.loading:
            error = LOADING
        elif any(len(metadata) > 4096 for _offset, metadata in offsets.values()):
            error = METADATA_TOO_LARGE
        else:
            group = self.groups[request.consumer_group]
            error = group.commit(request.consumer_id, request.consumer_group_generation_id, offsets)
        reply(*(0,) * (request.API_VERSION > 2), [
            (topic, [(p, error) for p, *_ in parts]) for topic, parts in request.topics
        ])  # fmt: skip

    def _on_OffsetFetchRequest(self, request: Any, client: str, reply: Any) -> None:  # noqa: N802
        if self.loading:
            reply(0, [], LOADING)
            return
        offsets = self.groups[request.consumer_group].offsets
        reply(0, [
            (topic, [(p, *offsets.get((topic, p), (-1, "")), NO_ERROR) for p in partitions])
            for topic, partitions in request.topics
        ], NO_ERROR)  # fmt: skip

    def _on_JoinGroupRequest(self, request: Any, client: str, reply: Any) -> None:  # noqa: N802
        if self.loading:
            reply(0, LOADING, -1, "", "", request.member_id, [])
            return
        protocol, metadata = request.group_protocols[0]
        self.groups[request.group].join(
            lambda *fields: reply(0, *fields), request.member_id, client, request.group_instance_id,
            request.session_timeout / 1000, request.rebalance_timeout / 1000, protocol, bytes(metadata),
        )  # fmt: skip

    def _on_SyncGroupRequest(self, request: Any, client: str, reply: Any) -> None:  # noqa: N802
        if self.loading:
            reply(0, LOADING + 1, b"")
            return
        assignments = {member: bytes(assignment) for member, assignment in request.group_assignment}
        self.groups[request.group].sync(
            lambda *fields: reply(0, *fields), request.member_id, request.generation_id, assignments
        )

    def _on_HeartbeatRequest(self, request: Any, client: str, reply: Any) -> None:  # noqa: N802
        error = NO_ERROR if self.loading else self.groups[request.group].heartbeat(
            request.member_id, request.generation_id
        )  # fmt: skip
        reply(0, error)

    def _on_LeaveGroupRequest(self, request: Any, client: str, reply: Any) -> None:  # noqa: N802
        reply(0, self.groups[request.group].leave(request.member_id))

    def _mark(self, transaction: Transaction, target: tuple[str, int], commit: bool) -> None:
        self.logs[target].mark(transaction.producer, transaction.epoch, commit)
        self._wake()

    def _wake(self) -> None:
        """Look again at the fetches that wait for data."""
        waiting, self._waiting = self._waiting, []
        for look in waiting:
            if not look():
                self._waiting.append(look)
