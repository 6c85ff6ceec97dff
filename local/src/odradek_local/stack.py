"""What the local stack is made of, in the order in which it starts."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from odradek.models import ModelSettings
from odradek_local import model
from odradek_local.kafka import KafkaBroker
from odradek_local.keys import KeyFiles, access_secret, sealing_keys
from odradek_local.model import ModelServer
from odradek_local.ports import HOST, Ports
from odradek_local.process import Process
from odradek_local.service import SERVICES, Needs, Service, inherited, name_of
from odradek_local.settings import LocalSettings
from odradek_local.valkey import ValkeyServer


class Part(Protocol):
    """A process of the stack, with what it takes to start it, know it well and stop it.

    `pool`: the service of which it is a replica, if it is one.
    """

    @property
    def name(self) -> str: ...
    @property
    def pool(self) -> str | None: ...
    @property
    def port(self) -> int: ...
    @property
    def process(self) -> Process: ...
    def start(self) -> None: ...
    async def healthy(self, deadline_s: float) -> None: ...
    def stop(self) -> None: ...


class Stack:
    """The broker, Valkey, the model server (unless it is left out) and the five services, each of one replica or more."""

    def __init__(self, settings: LocalSettings):
        self.settings = settings
        self._ports, self._logs = Ports(), settings.folder / "logs"
        ports, logs = self._ports, self._logs
        self.broker = KafkaBroker(
            settings.folder / "kafka",
            ports.choose("Kafka", settings.kafka_port),
            java_options=settings.kafka_java_options,
        )
        self.valkey = ValkeyServer(logs / "valkey.log", ports.choose("Valkey", settings.valkey_port))
        self.model = _model_server(settings, ports, logs)
        self.models = _upstreams(settings, self.model)
        self._keys = sealing_keys(settings.folder / "keys")
        self.secret = access_secret(settings.folder / "keys")
        self._front_port = ports.choose("the model gateway's HTTP front end", settings.front_port)
        self.services: list[Part] = [
            self.replica(needs.name, number)
            for needs in SERVICES
            for number in range(settings.scale.get(needs.name, 1))
        ]
        self.notes = ports.notes

    @property
    def blob_store(self) -> str:
        """Where values too large for a record go."""
        return self.settings.blob_store or (self.settings.folder / "blobs").as_uri()

    @property
    def gateway_url(self) -> str:
        """Where agent programs ask their model, without /v1."""
        return f"http://{HOST}:{self._front_port}"

    @property
    def foundation(self) -> list[Part]:
        """What runs before the services can."""
        return [self.broker, self.valkey, *([self.model] if self.model else [])]

    def replica(self, pool: str, number: int) -> Service:
        """Replica `number` of a service, from 0, not started. Only the first ones have ports that are known before."""
        place = [needs.name for needs in SERVICES].index(pool)
        needs, first, name = SERVICES[place], self.settings.services_port, name_of(pool, number)
        port = self._ports.choose(name, first + place if first and number == 0 else 0)
        env = self._environment(needs, number, port, self._keys)
        return Service(needs, port, env, self._logs / f"{name}.log", number)

    def _environment(self, needs: Needs, number: int, port: int, keys: KeyFiles) -> Mapping[str, str]:
        api_keys = {upstream.api_key_env for upstream in self.models.values() if upstream.api_key_env}
        env = inherited(api_keys, needs) | {
            "ODRADEK_BOOTSTRAP_SERVERS": self.broker.bootstrap,
            "ODRADEK_TOPIC_PREFIX": self.settings.topic_prefix,
            "ODRADEK_PARTITIONS": str(self.settings.partitions),
            "ODRADEK_BLOB_STORE": self.blob_store,
            "ODRADEK_HTTP_PORT": str(port),
            "ODRADEK_WORKER_ID": f"{needs.name}-{number}",
        }
        if needs.public_key:
            env["ODRADEK_SEALING_PUBLIC_KEY_FILE"] = str(keys.public)
        if needs.private_key:
            env["ODRADEK_SEALING_PRIVATE_KEY_FILE"] = str(keys.private)
        if needs.access_secret:
            env["ODRADEK_ACCESS_SECRET_FILE"] = str(self.secret)
            env["ODRADEK_GATEWAY_URL"] = self.gateway_url
        if needs.flights:
            env["ODRADEK_FLIGHTS_FILE"] = str(self.settings.folder / "flights" / name_of(needs.name, number))
        if needs.models and number == 0:
            env["ODRADEK_FRONT_PORT"] = str(self._front_port)
        if needs.models:
            env["ODRADEK_REDIS_URL"] = self.valkey.url
            env["ODRADEK_MODELS"] = json.dumps(
                {
                    name: one.model_dump(mode="json", exclude_defaults=True)
                    for name, one in self.models.items()
                }
            )
        return env


def _model_server(settings: LocalSettings, ports: Ports, logs: Path) -> ModelServer | None:
    if not settings.local_model:
        return None
    return ModelServer(logs / "model-server.log", ports.choose("the model server", settings.model_port))


def _upstreams(settings: LocalSettings, server: ModelServer | None) -> dict[str, ModelSettings]:
    if server is None:
        return settings.models
    local = ModelSettings.at(server.base_url, model=model.MODEL, tool_calls="json_schema")
    return {model.MODEL: local} | settings.models
