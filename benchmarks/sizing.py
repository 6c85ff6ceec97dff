"""How many partitions, workers and brokers a load needs, reckoned from what was measured (pure).

    python -m benchmarks.sizing --in-flight 10000 --seconds 60 --calls 4

All costs are the medians of `benchmarks/results/latest.json`: the series that each comes from are named in `Measured`.
What was never measured is an assumption, and stands among the constants below with its reason.

Little's law gives the rate: rollouts a second are rollouts in flight by the seconds that each lasts. A rollout of so
many model calls, with a tool call between each two, is taken to lie on the line through the two kinds that were
measured: one model call, and four model with three tool calls.
"""

import argparse
import math
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks import tables
from benchmarks.harness.results import RESULTS, read_latest
from odradek_runtime.gathering import MOST_SECONDS, SECONDS_PER_RECORD
from odradek_runtime.positions import MAX_IN_FLIGHT
from odradek_schemas.topics import (
    AGENT,
    BY_NAME,
    ENV,
    GATEWAY,
    JOURNAL,
    JUDGING,
    LEDGER,
    POSITIONS,
    PRODUCER,
    SESSIONS,
    TOPICS,
    VERIFIER,
    Kept,
)

POOLS = (PRODUCER, AGENT, ENV, VERIFIER, GATEWAY)
BROKER = "kafka"
CHANGELOGS = {topic.name for topic in (LEDGER, JOURNAL, SESSIONS, JUDGING, *POSITIONS)}
"""Read when a partition is taken over, and else by nobody."""

UNEVEN = 0.75
"""How full the fullest partition's room for calls may be on average: rollouts are dealt by a hash. Measured: 16
partitions hold 10,000 calls in flight (`crowd`)."""
LEAST_PARTITIONS = 4
MOST_PARTITIONS = 64
"""Of one deployment: twice what was ever measured (`scaling`). Beyond it, deployments beside each other."""
MOST_IN_FLIGHT = 5_000
"""Of one agent-worker, and calls of one gateway: half of what was measured with one of each (`crowd`), where loops
were up to 0.4 s late on two cores."""
BUSY = 0.6
"""How much of a core a worker is planned to use: the rest is for bursts and for taking over from one that died."""
LEAST_WORKERS = 2
"""Of each kind, so that one may die; one is enough where a restart is soon enough."""
COMMIT_SECONDS = 0.005
"""Of a transaction on a broker that has nothing else to do (measured by hand, 4.6 to 5.2 ms)."""
IDLE_WORKER_MB = 75
"""Resident memory of a worker that has nothing in flight: the env-worker's in `crowd`."""
HISTORY_FACTOR = 3
"""Memory of a conversation by its bytes in the journal; assumed."""
REPLICAS_A_BROKER = 4_000
"""Partition replicas that a broker is given; a rule of thumb of Kafka's operators, not measured here."""
BROKER_MB_A_SECOND = 75
"""What a broker is planned to write, its replicas' share included; assumed, for ordinary cloud disks."""


@dataclass(frozen=True)
class Load:
    """`seconds`: of a rollout's life, of which it waits for models `waiting` (a share). `calls`: its model calls."""

    in_flight: int
    seconds: float = 60.0
    calls: int = 4
    waiting: float = 0.9
    replicas: int = 3
    keep_days: float = 7.0

    @property
    def rate(self) -> float:
        """Rollouts a second (Little's law)."""
        return self.in_flight / self.seconds

    @property
    def calls_in_flight(self) -> float:
        return self.in_flight * self.waiting


@dataclass(frozen=True)
class Measured:
    """Costs of one rollout, from the series of the latest results."""

    latest: tables.Latest

    def cpu_ms(self, part: str, calls: int) -> float:
        """Milliseconds of CPU where both cores are full, so that transactions carry much (`throughput.*`)."""
        return self._line("throughput.{}", f"cpu_ms:{part}", calls)

    def transactions(self, pool: str, calls: int) -> float:
        """At most: where hardly two events share one (`volume.sparse.*`)."""
        return self._line("volume.sparse.{}", f"transactions:{pool}", calls)

    def stored(self, topic: str, calls: int) -> float:
        """Bytes of a topic (`volume.crowded.*`)."""
        return self._line("volume.crowded.{}", f"bytes:{topic}", calls)

    def stored_at_most(self, calls: int) -> float:
        """Bytes of all topics where each transaction carries little (`volume.sparse.*`)."""
        return self._line("volume.sparse.{}", "bytes_per_rollout", calls)

    @property
    def agent_mb(self) -> float:
        """Memory of an agent-worker by rollout in flight, of one short question (`crowd`: 10,000)."""
        return (self._median("crowd", f"rss_mb:{AGENT}") - IDLE_WORKER_MB) / self._crowd

    @property
    def gateway_mb(self) -> float:
        """Memory of a gateway by call in flight (`crowd`)."""
        return (self._median("crowd", f"rss_mb:{GATEWAY}") - IDLE_WORKER_MB) / self._crowd

    def memory_mb(self, pool: str) -> float:
        """Of a worker, with what it holds at any time (`crowd`)."""
        return self._median("crowd", f"rss_mb:{pool}")

    def transaction_ms(self, part: str) -> float:
        """CPU of a further transaction: from 4 partitions to 32 (`scaling.*.multi_step`), at the broker or in all pools."""
        few, many = "scaling.workers.1.multi_step", "scaling.partitions.32.multi_step"
        parts = (BROKER,) if part == BROKER else POOLS
        more = sum(self._median(many, f"cpu_ms:{p}") - self._median(few, f"cpu_ms:{p}") for p in parts)
        taken = [self._median(series, "transactions_per_rollout") for series in (many, few)]
        return more / (taken[0] - taken[1])

    @property
    def _crowd(self) -> int:
        return int(self.latest["crowd"]["settings"]["in_flight"])

    def _line(self, series: str, figure: str, calls: int) -> float:
        one, four = (self._median(series.format(kind), figure) for kind in ("single_turn", "multi_step"))
        return max(0.0, one + (four - one) * (calls - 1) / 3)

    def _median(self, series: str, figure: str) -> float:
        found = tables.figure(self.latest, series, figure)
        return 0.0 if found is None else float(found["median"])


@dataclass(frozen=True)
class Size:
    """What a load needs, of all `deployments` together; `partitions` are those of one."""

    load: Load
    deployments: int
    partitions: int
    workers: Mapping[str, int]
    memory_mb: Mapping[str, float]
    cores: Mapping[str, float]
    transactions: float
    most_cores: float
    stored: float
    sent: float
    kept_bytes: float
    brokers: int

    @property
    def week_bytes(self) -> float:
        """On the disks of all brokers, of what is kept for days (`ODRADEK_KEEP_DAYS`)."""
        return self.load.rate * self.load.replicas * self.stored * 86_400 * self.load.keep_days

    @property
    def core_hours_a_million(self) -> float:
        """Of a million rollouts, at least."""
        return sum(self.cores.values()) / self.load.rate * 1e6 / 3600


def size(load: Load, measured: Measured) -> Size:
    """What `load` needs."""
    needed = partitions_for(load)
    deployments = math.ceil(needed / MOST_PARTITIONS)
    cores = {part: load.rate * measured.cpu_ms(part, load.calls) / 1000 for part in (*POOLS, BROKER)}
    workers = {pool: _workers(pool, load, cores[pool], deployments) for pool in POOLS}
    partitions = max(min(needed, MOST_PARTITIONS), _power_of_two(max(workers.values()) / deployments))
    transactions = {pool: _transactions(pool, load, measured, deployments * partitions) for pool in POOLS}
    all_ms = measured.transaction_ms(BROKER) + measured.transaction_ms(AGENT)
    stored = {topic.name: measured.stored(topic.name, load.calls) for topic in TOPICS}
    return Size(
        load=load,
        deployments=deployments,
        partitions=partitions,
        workers=workers,
        memory_mb={pool: _memory_mb(pool, load, measured, workers[pool]) for pool in POOLS},
        cores=cores,
        transactions=sum(transactions.values()),
        most_cores=sum(cores.values()) + sum(transactions.values()) * all_ms / 1000,
        stored=sum(stored.values()),
        sent=sum(one * len(_pools_that_read(name)) for name, one in stored.items()),
        kept_bytes=sum(one for name, one in stored.items() if BY_NAME[name].kept is Kept.LONG),
        brokers=_brokers(load, measured, deployments, partitions),
    )


def partitions_for(load: Load) -> int:
    """A gateway keeps so many calls of a partition in flight, and no more; a power of two is easy to share and to grow."""
    return max(LEAST_PARTITIONS, _power_of_two(load.calls_in_flight / (MAX_IN_FLIGHT * UNEVEN)))


def cycles(records: float) -> float:
    """Transactions a second of one kind of worker in one partition, at so many records a second.

    `gathering.py`: a cycle waits a millisecond for each record of the one before, and 40 ms at most.
    """
    growing = (1 - records * SECONDS_PER_RECORD) / COMMIT_SECONDS
    return min(records, max(growing, 1 / (MOST_SECONDS + COMMIT_SECONDS)))


def _transactions(pool: str, load: Load, measured: Measured, partitions: int) -> float:
    """Transactions a second of a pool, if nothing holds them up."""
    records = load.rate * measured.transactions(pool, load.calls) / partitions
    return partitions * cycles(records)


def _workers(pool: str, load: Load, cores: float, deployments: int) -> int:
    held = {AGENT: load.in_flight, GATEWAY: load.calls_in_flight}.get(pool, 0)
    least = max(cores / BUSY, held / MOST_IN_FLIGHT)
    return deployments * max(LEAST_WORKERS, math.ceil(least / deployments))


def _memory_mb(pool: str, load: Load, measured: Measured, workers: int) -> float:
    """Resident, of one worker of the pool."""
    if pool == AGENT:
        journal = measured.stored("journal", load.calls) - measured.stored("journal", 1)
        each = measured.agent_mb + HISTORY_FACTOR * journal / 1e6
        return IDLE_WORKER_MB + each * load.in_flight / workers
    if pool == GATEWAY:
        return IDLE_WORKER_MB + measured.gateway_mb * load.calls_in_flight / workers
    return measured.memory_mb(pool)


def _brokers(load: Load, measured: Measured, deployments: int, partitions: int) -> int:
    replicas = deployments * load.replicas * (partitions * sum(not topic.single for topic in TOPICS) + 1)
    written = load.rate * load.replicas * measured.stored_at_most(load.calls) / 1e6
    return max(
        load.replicas, math.ceil(replicas / REPLICAS_A_BROKER), math.ceil(written / BROKER_MB_A_SECOND)
    )


def _pools_that_read(topic: str) -> set[str]:
    return set() if topic in CHANGELOGS else set(BY_NAME[topic].read_by) & set(POOLS)


def _power_of_two(least: float) -> int:
    return 1 << max(0, math.ceil(math.log2(max(1.0, least))))


def table(loads: list[Load], measured: Measured) -> str:
    """The loads beside each other."""
    sizes = [size(load, measured) for load in loads]
    rows = [
        ("rollouts a second", *(tables.number(one.load.rate) for one in sizes)),
        ("model calls in flight", *(tables.number(round(one.load.calls_in_flight)) for one in sizes)),
        ("deployments (topic prefixes)", *(tables.number(one.deployments) for one in sizes)),
        ("partitions of each", *(tables.number(one.partitions) for one in sizes)),
        *((f"{pool}s", *(_pool(one, pool) for one in sizes)) for pool in POOLS),
        ("cores, workers and broker, at least", *(_cores(sum(one.cores.values())) for one in sizes)),
        ("of these the broker's", *(_cores(one.cores[BROKER]) for one in sizes)),
        ("transactions a second, at most", *(tables.number(round(one.transactions)) for one in sizes)),
        ("cores that they can take, at most", *(_cores(one.most_cores) for one in sizes)),
        ("written a second, before replication", *(_bytes(one.load.rate * one.stored) for one in sizes)),
        ("sent to workers a second", *(_bytes(one.load.rate * one.sent) for one in sizes)),
        ("on disk for 7 days, all replicas", *(_bytes(one.week_bytes) for one in sizes)),
        ("of a million rollouts: core hours, at least", *(_cores(one.core_hours_a_million) for one in sizes)),
        ("of a million rollouts: kept for good, all replicas", *(_bytes(_for_good(one)) for one in sizes)),
        ("brokers", *(tables.number(one.brokers) for one in sizes)),
    ]
    return tables.markdown(("", *(f"{load.in_flight:,} in flight" for load in loads)), rows)


def each_rollout(measured: Measured) -> str:
    """What one rollout costs, of the two kinds that were measured."""
    kinds = (1, 4)
    rows = [
        (
            f"CPU of the {'broker' if part == BROKER else part}, ms",
            *(tables.number(measured.cpu_ms(part, calls)) for calls in kinds),
        )
        for part in (*POOLS, BROKER)
    ]
    rows.append(
        (
            "CPU of all, ms",
            *(tables.number(sum(measured.cpu_ms(p, c) for p in (*POOLS, BROKER))) for c in kinds),
        )
    )
    rows += [
        (
            f"bytes of `{topic.name}`",
            *(tables.number(round(measured.stored(topic.name, calls))) for calls in kinds),
        )
        for topic in TOPICS
        if measured.stored(topic.name, kinds[-1]) >= 1
    ]
    rows += [
        ("bytes of all", *(tables.number(round(_all_bytes(measured, calls))) for calls in kinds)),
        (
            "the same, almost alone",
            *(tables.number(round(measured.stored_at_most(calls))) for calls in kinds),
        ),
        (
            "transactions, almost alone",
            *(tables.number(_all_transactions(measured, calls)) for calls in kinds),
        ),
    ]
    return tables.markdown(("", "single turn", "4 model and 3 tool calls"), rows)


def _all_bytes(measured: Measured, calls: int) -> float:
    return sum(measured.stored(topic.name, calls) for topic in TOPICS)


def _all_transactions(measured: Measured, calls: int) -> float:
    return sum(measured.transactions(pool, calls) for pool in POOLS)


def _pool(one: Size, pool: str) -> str:
    return f"{one.workers[pool]} of {one.memory_mb[pool]:.0f} MB"


def _cores(cores: float) -> str:
    return f"{cores:.2f}" if cores < 10 else f"{cores:,.0f}"


def _for_good(one: Size) -> float:
    return one.kept_bytes * one.load.replicas * 1e6


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{tables.number(round(count, 1))} {unit}"
        count /= 1000
    raise AssertionError("unreachable")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sizing",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--in-flight", type=int, nargs="+", default=[100, 10_000, 1_000_000])
    parser.add_argument("--seconds", type=float, default=60.0, help="of a rollout's life")
    parser.add_argument("--calls", type=int, default=4, help="of a model, each but the last with a tool call")
    parser.add_argument(
        "--waiting", type=float, default=0.9, help="the share of its life that it waits for models"
    )
    parser.add_argument("--replicas", type=int, default=3, help="of each partition")
    given = parser.parse_args()
    if min(*given.in_flight, given.seconds, given.calls, given.replicas) <= 0 or not 0 <= given.waiting <= 1:
        parser.error("all numbers are above 0, and --waiting is at most 1")
    loads = [
        Load(count, given.seconds, given.calls, given.waiting, given.replicas) for count in given.in_flight
    ]
    print(table(loads, Measured(read_latest(RESULTS))))


if __name__ == "__main__":
    main()
