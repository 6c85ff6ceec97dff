"""Pools' loads as CloudWatch metrics, for Application Auto Scaling.

Namespace `Odradek`, dimensions `Deployment` and `Pool`, unit Count; of each pool

- `Load`, `Backlog`, `InFlight`, `Members`: as `PoolLoad` has them;
- `LoadPerWorker`: load / max(1, members). Target tracking wants a figure that falls when capacity grows;
- `UnattendedLoad`: the load of a pool without members, else 0. It wakes a pool that was scaled to none: no proportion
  of nothing says how many workers there should be.

A load that isn't known is not published: where data are missing, Application Auto Scaling leaves a pool as it is.
Source: Amazon CloudWatch API reference, PutMetricData (1,000 metrics and 1 MB a request; a metric is some 300 bytes).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from prometheus_client import Counter

from odradek_runtime.logs import get_logger
from odradek_scaling.aws import create_client
from odradek_scaling.load import PoolLoad
from odradek_scaling.meter import Result

NAMESPACE = "Odradek"
MOST_METRICS = 1000
TRIES = 3
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0

Measure = Callable[[], Awaitable[Mapping[str, Result]]]

log = get_logger(__name__)
_failures = Counter("odradek_load_publish_failures", "Times that CloudWatch could not be told of loads.")


class Publisher:
    """Tells CloudWatch of loads, in the region and with the credentials that boto3 finds."""

    def __init__(self, deployment: str, client: Any = None) -> None:
        self._deployment = deployment
        self._client = client or _client()

    def publish(self, loads: Sequence[PoolLoad]) -> None:
        """Publish loads, as they are now. Blocks for at most TRIES times (CONNECT_SECONDS + ANSWER_SECONDS), and pauses.

        Raises:
            BotoCoreError, ClientError: CloudWatch can't be reached, or refuses.
        """
        metrics = [
            metric for load in loads for metric in metrics_of(load, self._deployment, datetime.now(UTC))
        ]
        for start in range(0, len(metrics), MOST_METRICS):
            self._client.put_metric_data(
                Namespace=NAMESPACE, MetricData=metrics[start : start + MOST_METRICS]
            )


def metrics_of(load: PoolLoad, deployment: str, at: datetime) -> Iterator[dict[str, Any]]:
    """A pool's metrics, as PutMetricData takes them."""
    values = {
        "Load": load.load,
        "Backlog": load.backlog,
        "InFlight": load.in_flight,
        "Members": load.members,
        "LoadPerWorker": load.load / max(1, load.members),
        "UnattendedLoad": 0 if load.members else load.load,
    }
    of = [{"Name": "Deployment", "Value": deployment}, {"Name": "Pool", "Value": load.pool}]
    for name, value in values.items():
        yield {
            "MetricName": name,
            "Dimensions": of,
            "Timestamp": at,
            "Value": float(value),
            "Unit": "Count",
        }


async def publish_loads(measure: Measure, publisher: Publisher, every_seconds: float) -> None:
    """Publish every pool's load until cancelled. What fails is logged and counted; the next time tries anew."""
    while True:
        try:
            await asyncio.to_thread(publisher.publish, _known(await measure()))
        except (BotoCoreError, ClientError) as error:
            _failures.inc()
            log.warning("CloudWatch was not told of the pools' loads", error=str(error))
        await asyncio.sleep(every_seconds)


def _known(results: Mapping[str, Result]) -> list[PoolLoad]:
    """The loads that are known; of the others, why they are not."""
    for pool, result in results.items():
        if not isinstance(result, PoolLoad):
            log.warning("a pool's load is not known", pool=pool, error=str(result))
    return [result for result in results.values() if isinstance(result, PoolLoad)]


def _client() -> Any:
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=ANSWER_SECONDS,
        retries={"mode": "standard", "total_max_attempts": TRIES},
    )
    return create_client("cloudwatch", config)
