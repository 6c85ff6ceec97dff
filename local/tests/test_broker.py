"""The broker: starts, keeps its topics and its identity across a restart, takes another port, says what is wrong."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from odradek_local import jars
from odradek_local.jars import JarError, locked_jars, read_lock
from odradek_local.kafka import KafkaBroker, new_cluster_id
from odradek_local.ports import locked
from odradek_local.process import ProcessError


async def cluster(bootstrap: str) -> tuple[str, set[str]]:
    """The cluster's id and its topics."""
    async with admin(bootstrap) as client:
        return (await client.describe_cluster())["cluster_id"], set(await client.list_topics())


@asynccontextmanager
async def admin(bootstrap: str) -> AsyncIterator[AIOKafkaAdminClient]:
    client = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await client.start()
    try:
        yield client
    finally:
        await client.close()


@pytest.mark.kafka
async def test_a_restart_finds_the_cluster_and_its_topics_again(tmp_path: Path) -> None:
    broker = KafkaBroker(tmp_path, port=0)
    try:
        broker.start()
        await broker.healthy()
        async with admin(broker.bootstrap) as client:
            await client.create_topics([NewTopic("kept", num_partitions=3, replication_factor=1)])
        before = await cluster(broker.bootstrap)
        broker.stop()
        broker.start()
        await broker.healthy()
        assert await cluster(broker.bootstrap) == before
        assert "kept" in before[1]
    finally:
        broker.stop()
    assert not broker.process.running


async def test_a_port_that_is_taken_is_replaced(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert KafkaBroker(tmp_path, port=port).port != port


@pytest.mark.kafka
async def test_a_broker_that_ends_at_its_start_shows_its_log(tmp_path: Path) -> None:
    broker = KafkaBroker(tmp_path, port=0, java_options="-Xmx1m")
    broker.start()
    with pytest.raises(ProcessError, match=r"exit code 1.*kafka\.log") as error:
        await broker.healthy()
    assert "heap" in str(error.value)


def test_a_jar_that_is_not_the_locked_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = read_lock()[0]
    path = jar.path(tmp_path / "maven")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not a jar")
    monkeypatch.setattr(jars, "read_lock", lambda: [jar])
    with pytest.raises(JarError, match="Delete the file") as error:
        locked_jars(tmp_path)
    assert str(path) in str(error.value)
    assert jar.sha256 in str(error.value)


def test_a_cache_that_another_process_fills_for_too_long_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "TURN_WITHIN_S", 0.1)
    (tmp_path / "maven").mkdir()
    with (tmp_path / "maven" / ".lock").open("w") as other:
        assert locked(other.fileno())
        with pytest.raises(JarError, match="Another process has been fetching"):
            locked_jars(tmp_path)


def test_a_folder_without_kafka_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_KAFKA_LIBS", str(tmp_path))
    with pytest.raises(ProcessError, match="ODRADEK_KAFKA_LIBS"):
        KafkaBroker(tmp_path, port=0).start()


def test_no_cluster_id_looks_like_an_option() -> None:
    """One in 64 random ones would, and Kafka's tool would not format the disk."""
    assert not [cluster for cluster in (new_cluster_id() for _ in range(2000)) if cluster.startswith("-")]
