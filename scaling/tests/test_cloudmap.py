"""Workers found by Cloud Map, as moto plays it."""

import threading
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.server import ThreadedMotoServer

from odradek_scaling import cloudmap
from odradek_scaling.cloudmap import by_cloud_map


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with mock_aws():
        yield


def register(count: int) -> None:
    """A namespace with `count` env-workers."""
    client = boto3.client("servicediscovery")
    client.create_private_dns_namespace(Name="prod.odradek.internal", Vpc="vpc-1")
    namespace = client.list_namespaces()["Namespaces"][0]["Id"]
    service = client.create_service(Name="env-worker", NamespaceId=namespace)["Service"]["Id"]
    for number in range(count):
        client.register_instance(
            ServiceId=service, InstanceId=str(number), Attributes={"AWS_INSTANCE_IPV4": f"10.0.0.{number:02}"}
        )


async def test_finds_more_workers_than_dns_tells() -> None:
    register(20)
    found = await by_cloud_map("prod.odradek.internal:9400")("env-worker")
    assert found == [(f"10.0.0.{number:02}", 9400) for number in range(20)]


async def test_where_cloud_map_refuses_nobody_is_found() -> None:
    assert await by_cloud_map("prod.odradek.internal:9400")("env-worker") == []


async def test_an_endpoint_of_ones_own_is_asked_by_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caught: `data-` put before a name that nobody has with it."""
    register(2)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        found = await by_cloud_map("prod.odradek.internal:9400")("env-worker")
    finally:
        server.stop()
    assert found == [("10.0.0.00", 9400), ("10.0.0.01", 9400)]


async def test_a_cloud_map_that_hangs_is_waited_for_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caught: all pools' loads unknown, and Kafka said to be to blame, since a name was looked up for too long."""
    monkeypatch.setattr(cloudmap, "ANSWER_SECONDS", 0.05)
    enough = threading.Event()

    class Hanging:
        def discover_instances(self, **_asked: Any) -> Any:
            enough.wait(20)

    try:
        assert await by_cloud_map("prod.odradek.internal:9400", Hanging())("env-worker") == []
    finally:
        enough.set()


@pytest.mark.parametrize("place", ["prod", "prod:", ":9400", "prod:http"])
def test_a_place_is_a_namespace_and_a_port(place: str) -> None:
    with pytest.raises(ValueError, match="is not NAMESPACE:PORT"):
        by_cloud_map(place)
