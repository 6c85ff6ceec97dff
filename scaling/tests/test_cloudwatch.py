"""What CloudWatch is told of the pools' loads, against moto."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto import mock_aws
from prometheus_client import REGISTRY

from odradek_scaling.cloudwatch import Publisher, metrics_of, publish_loads
from odradek_scaling.load import POOLS, LoadUnknownError, PoolLoad
from odradek_scaling.meter import Result

BUSY = PoolLoad(pool="env-worker", backlog=12, in_flight=3, load=15, members=2)
ASLEEP = PoolLoad(pool="verifier-worker", backlog=7, in_flight=0, load=7, members=0)
counts = st.integers(min_value=0, max_value=10**9)


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with mock_aws():
        yield


def told(pool: str, deployment: str = "prod") -> dict[str, float]:
    """What CloudWatch averages of a pool's metrics, by name."""
    client = boto3.client("cloudwatch")
    dimensions = [{"Name": "Deployment", "Value": deployment}, {"Name": "Pool", "Value": pool}]
    found = {}
    for metric in client.list_metrics(Namespace="Odradek", Dimensions=dimensions)["Metrics"]:
        points = client.get_metric_statistics(
            Namespace="Odradek",
            MetricName=metric["MetricName"],
            Dimensions=dimensions,
            StartTime=datetime.now(UTC) - timedelta(minutes=5),
            EndTime=datetime.now(UTC) + timedelta(minutes=5),
            Period=3600,
            Statistics=["Average"],
            Unit="Count",
        )["Datapoints"]
        found[metric["MetricName"]] = points[0]["Average"]
    return found


def test_a_load_becomes_metrics_of_its_deployment_and_pool() -> None:
    Publisher("prod").publish([BUSY, ASLEEP])

    assert told("env-worker") == {
        "Load": 15,
        "Backlog": 12,
        "InFlight": 3,
        "Members": 2,
        "LoadPerWorker": 7.5,
        "UnattendedLoad": 0,
    }
    assert told("verifier-worker") | {"LoadPerWorker": 7, "UnattendedLoad": 7} == told("verifier-worker")
    assert told("env-worker", "staging") == {}


@given(counts, counts)
def test_only_a_pool_without_workers_is_unattended(load: int, members: int) -> None:
    of = PoolLoad(pool="env-worker", backlog=load, in_flight=0, load=load, members=members)
    values = {metric["MetricName"]: metric["Value"] for metric in metrics_of(of, "prod", datetime.now(UTC))}

    assert values["LoadPerWorker"] * max(1, members) == pytest.approx(load)
    assert (values["UnattendedLoad"] > 0) == (load > 0 and members == 0)


class Requests:
    """A client that keeps what it is asked."""

    def __init__(self, *failures: Exception) -> None:
        self.sizes: list[int] = []
        self.three = threading.Event()
        self._failures = list(failures)

    def put_metric_data(self, *, Namespace: str, MetricData: list[Any]) -> None:  # noqa: N803
        self.sizes.append(len(MetricData))
        if len(self.sizes) == 3:
            self.three.set()
        if self._failures:
            raise self._failures.pop(0)


def test_a_request_has_at_most_a_thousand_metrics() -> None:
    client = Requests()
    Publisher("prod", client).publish([BUSY] * 400)
    assert client.sizes == [1000, 1000, 400]


async def measure() -> dict[str, Result]:
    """Every pool is known but the gateway."""
    known: dict[str, Result] = {pool: BUSY.model_copy(update={"pool": pool}) for pool in POOLS}
    return known | {"model-gateway": LoadUnknownError("its workers don't answer")}


def failures() -> float:
    return REGISTRY.get_sample_value("odradek_load_publish_failures_total") or 0.0


async def test_a_failure_is_counted_and_the_next_time_tries_anew() -> None:
    refused = boto3.client("cloudwatch").exceptions.InternalServiceFault({"Error": {}}, "PutMetricData")
    client, before = Requests(refused), failures()
    at_work = asyncio.create_task(publish_loads(measure, Publisher("prod", client), 0.001))
    assert await asyncio.to_thread(client.three.wait, 10)
    at_work.cancel()

    assert failures() - before == 1
    assert set(client.sizes) == {6 * (len(POOLS) - 1)}, "the pool whose load is not known is left out"
