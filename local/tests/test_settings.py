"""What each service is given, and what it is not."""

import json
import socket
import stat
from pathlib import Path

import pytest

from odradek.models import ModelSettings
from odradek_local.keys import sealing_keys
from odradek_local.ports import Ports
from odradek_local.settings import LocalSettings
from odradek_local.stack import Stack


def stack(folder: Path, **settings: object) -> Stack:
    ports = {"kafka_port": 0, "valkey_port": 0, "model_port": 0, "services_port": 0}
    return Stack(LocalSettings.model_validate({"data_dir": folder, **ports, **settings}))


def test_only_those_who_may_open_answers_get_the_private_key(tmp_path: Path) -> None:
    env = {service.name: service.process.env for service in stack(tmp_path).services}
    having = {name for name in env if "ODRADEK_SEALING_PRIVATE_KEY_FILE" in env[name]}
    assert having == {"env-worker", "verifier-worker"}
    sealing = {name for name in env if "ODRADEK_SEALING_PUBLIC_KEY_FILE" in env[name]}
    assert sealing == {"task-producer", "env-worker"}


def test_only_the_gateway_knows_the_models_and_their_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    monkeypatch.setenv("ODRADEK_MODELS", "{}")
    far = ModelSettings.at("http://127.0.0.1:1/v1", model="far-1", api_key_env="SOME_API_KEY")
    env = {service.name: service.process.env for service in stack(tmp_path, models={"far": far}).services}
    assert {name for name in env if "SOME_API_KEY" in env[name]} == {"model-gateway"}
    assert {name for name in env if "ODRADEK_MODELS" in env[name]} == {"model-gateway"}
    models = json.loads(env["model-gateway"]["ODRADEK_MODELS"])
    assert set(models) == {"smollm2", "far"}
    assert models["smollm2"]["tool_calls"] == "json_schema"


def test_only_the_gateway_knows_where_limits_are_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODRADEK_REDIS_URL", "redis://:secret@far.example/0")
    made = stack(tmp_path)
    urls = {service.name: service.process.env.get("ODRADEK_REDIS_URL") for service in made.services}
    assert urls.pop("model-gateway") == f"redis://127.0.0.1:{made.valkey.port}/0"
    assert set(urls.values()) == {None}


def test_every_service_has_a_port_and_a_name_of_its_own(tmp_path: Path) -> None:
    env = [service.process.env for service in stack(tmp_path).services]
    ports = {int(each["ODRADEK_HTTP_PORT"]) for each in env}
    assert len(ports) == 5
    assert min(ports) > 1023  # 0 asks for free ports, not for those after it
    assert len({each["ODRADEK_WORKER_ID"] for each in env}) == 5


def test_replicas_of_a_pool_are_told_apart(tmp_path: Path) -> None:
    scaled = stack(tmp_path, scale={"env-worker": 2, "model-gateway": 2, "verifier-worker": 0})
    env = {service.name: service.process.env for service in scaled.services}
    assert "verifier-worker" not in env
    assert env["env-worker-1"]["ODRADEK_WORKER_ID"] == "env-worker-1"
    for own in ("ODRADEK_WORKER_ID", "ODRADEK_HTTP_PORT", "ODRADEK_FLIGHTS_FILE"):
        assert env["env-worker"][own] != env["env-worker-1"][own]
    assert "ODRADEK_FRONT_PORT" in env["model-gateway"]
    assert "ODRADEK_FRONT_PORT" not in env["model-gateway-1"], "programs are told of one address"


@pytest.mark.parametrize(
    ("scale", "said"), [({"agent": 1}, "no pool 'agent'"), ({"agent-worker": 5}, "from 0 to 4")]
)
def test_a_scale_that_makes_no_sense_is_refused(tmp_path: Path, scale: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        LocalSettings(data_dir=tmp_path, scale=scale)


def test_keys_are_made_once_and_private(tmp_path: Path) -> None:
    files = sealing_keys(tmp_path / "keys")
    before = files.private.read_bytes(), files.public.read_bytes()
    assert sealing_keys(tmp_path / "keys") == files
    assert (files.private.read_bytes(), files.public.read_bytes()) == before
    assert stat.S_IMODE(files.private.stat().st_mode) == 0o600


def test_a_default_port_that_is_taken_is_replaced_and_said() -> None:
    ports = Ports()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        wanted = taken.getsockname()[1]
        port = ports.choose("Kafka", wanted)
    assert port != wanted
    assert ports.notes == [f"Port {wanted} is taken: Kafka listens on {port}."]


def test_a_stack_without_any_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--model NAME=URL"):
        LocalSettings(data_dir=tmp_path, local_model=False)
