"""Workers found by AWS Cloud Map, which ECS keeps: all of them. Its DNS tells at most eight addresses of a name.

Source: AWS Cloud Map API reference, DiscoverInstances (1,000 instances an answer); DnsConfig, MULTIVALUE.
"""

import asyncio
import os
from collections.abc import Sequence
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from odradek_runtime.logs import get_logger
from odradek_scaling.aws import create_client
from odradek_scaling.telling import Address, FindWorkers, read_place

MOST_INSTANCES = 1000
FIND_SECONDS = 2.0
ANSWER_SECONDS = 6.0
"""Of all tries, and of the look-up of Cloud Map's own name, which nothing else bounds."""

log = get_logger(__name__)


def by_cloud_map(place: str, client: Any = None) -> FindWorkers:
    """Workers of a pool: the instances of the service of that name in a namespace. `place` is `NAMESPACE:PORT`.

    Raises:
        ValueError: it is not of this form.
        SettingsError: no region is set.
    """
    namespace, port = read_place(place)
    asked = client or _client()

    async def find(pool: str) -> Sequence[Address]:
        """None are found where Cloud Map does not answer: what owns work and is not asked makes a load unknown."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await asyncio.to_thread(_instances, asked, namespace, pool, port)
        except (BotoCoreError, ClientError, TimeoutError) as error:
            log.warning("Cloud Map does not tell where workers are", pool=pool, error=repr(error))
            return []

    return find


def _instances(client: Any, namespace: str, pool: str, port: int) -> list[Address]:
    found = client.discover_instances(
        NamespaceName=namespace, ServiceName=pool, MaxResults=MOST_INSTANCES, HealthStatus="ALL"
    )["Instances"]
    return sorted((instance["Attributes"]["AWS_INSTANCE_IPV4"], port) for instance in found)


def _client() -> Any:
    config = Config(
        connect_timeout=FIND_SECONDS,
        read_timeout=FIND_SECONDS,
        retries={"mode": "standard", "total_max_attempts": 2},
        # AWS answers this at `data-` before the name; an endpoint of one's own has no such name.
        inject_host_prefix=not {"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SERVICEDISCOVERY"} & os.environ.keys(),
    )
    return create_client("servicediscovery", config)
