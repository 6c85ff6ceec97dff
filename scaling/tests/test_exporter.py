"""The load exporter over HTTP: what it answers, and what it must not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientSession
from prometheus_client.parser import text_string_to_metric_families

from odradek_local.ports import free_port
from odradek_local.testing import create_topics
from odradek_runtime.brokers import Brokers
from odradek_runtime.kafka_security import PLAINTEXT
from odradek_runtime.names import Names
from odradek_scaling.app import main
from odradek_scaling.meter import Meter
from odradek_scaling.server import LoadServer
from odradek_schemas.topics import MODEL_CALLS, TOOL_ACTIONS


@asynccontextmanager
async def exporter(bootstrap: str, prefix: str = "t.") -> AsyncIterator[ClientSession]:
    meter = Meter(Brokers(bootstrap, PLAINTEXT), Names(prefix))
    server = LoadServer(meter, "127.0.0.1", 0)
    await server.start()
    try:
        async with ClientSession(f"http://127.0.0.1:{server.port}") as session:
            yield session
    finally:
        await server.stop()
        await meter.close()


@pytest.mark.parametrize(
    ("setting", "value"), [("LOAD_WORKERS_CLOUD_MAP", "prod:9400"), ("CLOUDWATCH_DEPLOYMENT", "prod")]
)
def test_without_a_region_the_setting_is_named(
    setting: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere/config")
    monkeypatch.setenv("ODRADEK_HTTP_PORT", "0")
    monkeypatch.setenv(f"ODRADEK_{setting}", value)
    with pytest.raises(SystemExit, match=r"odradek-load-exporter: AWS .* set AWS_DEFAULT_REGION"):
        main()


@pytest.mark.kafka
async def test_tells_one_pool_as_json_and_those_it_knows_to_prometheus(kafka: str, prefix: str) -> None:
    await create_topics(kafka, prefix, 1, TOOL_ACTIONS.name, MODEL_CALLS.name)
    async with exporter(kafka, prefix) as http:
        async with http.get("/pools/env-worker") as answer:
            assert await answer.json() == {
                "pool": "env-worker", "backlog": 0, "in_flight": 0, "load": 0, "members": 0
            }  # fmt: skip
        async with http.get("/pools/agent-worker") as answer:
            assert answer.status == 503
            assert "topics of agent-worker are missing" in (await answer.json())["error"]
        async with http.get("/readyz") as answer:
            assert answer.status == 200
        async with http.get("/metrics") as answer:
            families = text_string_to_metric_families(await answer.text())
    told = {(s.name, s.labels["pool"]): s.value for family in families for s in family.samples}
    assert told == {
        (f"odradek_pool_{name}", pool): 0.0
        for name in ("backlog", "in_flight", "load", "members")
        for pool in ("env-worker", "model-gateway")
    }


async def test_without_kafka_it_gives_no_number_at_all() -> None:
    port = free_port()
    async with exporter(f"127.0.0.1:{port}") as http:
        for path in ("/pools/env-worker", "/metrics", "/readyz"):
            async with http.get(path) as answer:
                assert answer.status == 503, path
                assert f"Kafka at 127.0.0.1:{port} does not answer" in await answer.text()
        async with http.get("/healthz") as answer:
            assert answer.status == 200


async def test_an_unknown_pool_is_told_the_known_ones() -> None:
    async with exporter("127.0.0.1:1") as http, http.get("/pools/env-workers") as answer:
        assert answer.status == 404
        assert "task-producer, agent-worker" in (await answer.json())["error"]


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("LOAD_WORKERS_DNS", "workers", "is not HOST:PORT"),
        ("LOAD_WORKERS_DNS", "workers:²", "is not HOST:PORT"),
        ("LOAD_WORKERS_DNS", "workers:99999", "is not HOST:PORT"),
        ("LOAD_WORKERS_CLOUD_MAP", "prod", "is not NAMESPACE:PORT"),
        ("BOOTSTRAP_SERVERS", "kafka", "ODRADEK_BOOTSTRAP_SERVERS: 'kafka' is not host:port"),
        ("KAFKA_SECURITY_PROTOCOL", "TLS", "ODRADEK_KAFKA_SECURITY_PROTOCOL: "),
        ("HTTP_PORT", "99999", "ODRADEK_HTTP_PORT: "),
        ("HTTP_HOST", "203.0.113.1", "can't listen there"),
    ],
)
def test_bad_settings_are_one_clear_line(
    setting: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODRADEK_HTTP_PORT", "0")
    monkeypatch.setenv(f"ODRADEK_{setting}", value)
    with pytest.raises(SystemExit, match=said) as ended:
        main()
    assert str(ended.value).startswith("odradek-load-exporter: ")
