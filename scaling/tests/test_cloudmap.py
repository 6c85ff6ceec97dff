"""Workers found by Cloud Map, as moto plays it."""

from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

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


@pytest.mark.parametrize("place", ["prod", "prod:", ":9400", "prod:http"])
def test_a_place_is_a_namespace_and_a_port(place: str) -> None:
    with pytest.raises(ValueError, match="is not NAMESPACE:PORT"):
        by_cloud_map(place)
