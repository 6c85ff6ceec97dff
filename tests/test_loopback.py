"""Nothing of ours listens beyond this machine unless it is told to."""

import ipaddress
import os

import pytest
from pydantic_settings import BaseSettings

from odradek_agent_worker.settings import AgentSettings
from odradek_env_worker.settings import EnvSettings
from odradek_model_gateway.settings import GatewaySettings
from odradek_runtime.settings import WorkerSettings
from odradek_scaling.settings import ExporterSettings
from odradek_task_producer.settings import ProducerSettings
from odradek_verifier_worker.settings import VerifierSettings

SETTINGS = (
    WorkerSettings,
    AgentSettings,
    EnvSettings,
    VerifierSettings,
    ProducerSettings,
    GatewaySettings,
    ExporterSettings,
)


@pytest.mark.parametrize("settings", SETTINGS)
def test_every_host_that_is_listened_on_is_loopback_by_default(settings: type[BaseSettings]) -> None:
    hosts = [name for name in settings.model_fields if name.endswith("_host")]
    assert "http_host" in hosts
    for name in hosts:
        assert ipaddress.ip_address(str(settings.model_fields[name].default)).is_loopback, name


def test_the_front_end_is_told_where_to_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("ODRADEK_")]:
        monkeypatch.delenv(name)
    assert GatewaySettings().front_host == "127.0.0.1"
    monkeypatch.setenv("ODRADEK_FRONT_HOST", "0.0.0.0")
    assert (GatewaySettings().front_host, GatewaySettings().http_host) == ("0.0.0.0", "127.0.0.1")
