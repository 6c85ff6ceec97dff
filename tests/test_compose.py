"""docker-compose.yml as it is written: what it publishes, what containers may do, and that .env.example names its settings."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
COMPOSE = (ROOT / "docker-compose.yml").read_text()
STACK: dict[str, Any] = yaml.safe_load(COMPOSE)
SERVICES: dict[str, dict[str, Any]] = STACK["services"]
ONCE = {"blobs", "keys", "topics", "cli"}
POOLS = {"task-producer", "agent-worker", "env-worker", "verifier-worker", "model-gateway"}
OUTSIDE = {"kafka", "model-gateway", "env-worker", "grafana"}
"""Who may reach more than the stack: for a published port, or to ask what is not here."""

_VARIABLE = re.compile(r"\$\{(\w+)(?::?[-?]([^}]*))?\}")
_SETTING = re.compile(r"^# (\w+)=(.*)$", re.MULTILINE)
NOT_SETTINGS = {
    "COMPOSE_PROJECT_NAME",
    "SOURCE_DATE_EPOCH",
    "ODRADEK_VERSION",
    "ODRADEK_REVISION",
    "ODRADEK_CREATED",
}
"""What Compose knows itself, and what whoever releases images sets."""


def test_every_setting_is_in_the_example_with_its_default() -> None:
    parts = [COMPOSE, *(path.read_text() for path in ROOT.glob("deploy/*/*.yml"))]
    used = {found for part in parts for found in _VARIABLE.findall(part)}
    shown: dict[str, set[str]] = {}
    for name, value in _SETTING.findall((ROOT / ".env.example").read_text()):
        shown.setdefault(name, set()).add(value)
    assert {name for name, _ in used} - NOT_SETTINGS - {"ODRADEK_KAFKA_CLUSTER_ID"} <= shown.keys()
    assert {name for name in shown if name.startswith("ODRADEK_")} <= {name for name, _ in used}
    for name, default in re.findall(_VARIABLE, COMPOSE):
        if name in shown:
            assert default in shown[name], name


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_container_may_do_no_more_than_it_must(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service.get("read_only") or name == "kafka"
    assert "privileged" not in service
    networks = set(service.get("networks", ["private"]))
    assert ("outside" in networks) == (name in OUTSIDE)
    for port in service.get("ports", []):
        assert port.startswith("127.0.0.1:")
    if name not in ONCE:
        assert {"cpus", "memory", "pids"} <= service["deploy"]["resources"]["limits"].keys()
        assert service["restart"] == "unless-stopped"


def test_all_is_on_a_network_without_a_way_out() -> None:
    assert STACK["networks"]["private"]["internal"]


@pytest.mark.parametrize("name", sorted(POOLS))
def test_a_pool_can_be_scaled(name: str) -> None:
    service = SERVICES[name]
    assert not {"container_name", "hostname", "ports"} & service.keys()
    assert "ODRADEK_WORKER_ID" not in service["environment"]
    assert service["stop_grace_period"] == "45s"


def test_each_image_has_its_lock_and_each_lock_its_image() -> None:
    targets = set(re.findall(r"^FROM \S+ AS (\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    locks = {path.stem for path in ROOT.glob("locks/images/*.txt")}
    assert targets - locks == {"tools", "wheels", "kafka-files", "plain", "valkey"}
    assert locks - targets == {"build"}
    built = {service["build"]["target"] for service in SERVICES.values() if "build" in service}
    assert built == targets & locks - {"base", "environments", "kafka"}
