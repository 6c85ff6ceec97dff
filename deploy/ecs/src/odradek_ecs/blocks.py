"""What sets one service apart from the others: a block of values for each. `task.py` is the shape that all share."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from odradek_ecs.config import Config, Size
from odradek_ecs.names import EXPORTER, TOPICS, Names
from odradek_schemas.topics import AGENT, ENV, GATEWAY, PRODUCER, VERIFIER, WORKERS

HEALTH_PORT = 9400
FRONT_PORT = 8400
STATE = "/var/lib/odradek"
SECRETS = "/run/secrets"
TOPICS_SIZE = Size(cpu=256, memory=512)

Environment = dict[str, str]
Files = dict[str, str]
"""Secrets that a service reads from files: the file's name, the secret's ARN."""


@dataclass(frozen=True)
class Block:
    """One service's values. `files` and `variables` are secrets, by reference; `ports` are what it listens on."""

    name: str
    image: str
    size: Size
    environment: Environment
    files: Files
    variables: Mapping[str, str]
    ports: tuple[int, ...] = (HEALTH_PORT,)
    command: tuple[str, ...] = ()
    disk_gib: int | None = None
    stop_seconds: int = 30

    @property
    def has_health(self) -> bool:
        return HEALTH_PORT in self.ports


def blocks(config: Config) -> dict[str, Block]:
    """The five pools, the load exporter and the job that makes the topics."""
    makers = {PRODUCER: _producer, AGENT: _agent, ENV: _env, VERIFIER: _verifier, GATEWAY: _gateway}
    pools = {name: _pool(config, name, makers[name](config)) for name in WORKERS}
    return {**pools, EXPORTER: _exporter(config), TOPICS: _topics(config)}


@dataclass(frozen=True)
class _Own:
    """What a pool has besides what every worker has."""

    environment: Environment
    files: Files
    variables: Mapping[str, str]
    ports: tuple[int, ...] = (HEALTH_PORT,)


def _producer(config: Config) -> _Own:
    return _own(files={"sealing_public_key": config.secrets.sealing_public_key})


def _agent(config: Config) -> _Own:
    return _own()


def _env(config: Config) -> _Own:
    files = _keys_of_evidence(config)
    environment = {"ODRADEK_FLIGHTS_FILE": f"{STATE}/flights"}
    if config.agent_programs:
        environment["ODRADEK_GATEWAY_URL"] = f"http://{Names(config.deployment).host(GATEWAY)}:{FRONT_PORT}"
        files |= _access(config)
    return _own(environment, files)


def _verifier(config: Config) -> _Own:
    return _own(files={"sealing_private_key": config.secrets.sealing_private_key})


def _gateway(config: Config) -> _Own:
    models = {
        name: model.model_dump(mode="json", exclude_defaults=True) for name, model in config.models.items()
    }
    environment = {"ODRADEK_MODELS": json.dumps(models, sort_keys=True)}
    variables = dict(config.model_keys)
    if config.redis_url:
        environment["ODRADEK_REDIS_URL"] = config.redis_url
    if config.redis_url_secret:
        variables["ODRADEK_REDIS_URL"] = config.redis_url_secret
    if not config.agent_programs:
        return _own(environment, {}, variables)
    environment |= {"ODRADEK_FRONT_HOST": "0.0.0.0", "ODRADEK_FRONT_PORT": str(FRONT_PORT)}
    return _own(environment, _access(config), variables, (HEALTH_PORT, FRONT_PORT))


def _own(
    environment: Environment | None = None,
    files: Files | None = None,
    variables: Mapping[str, str] | None = None,
    ports: tuple[int, ...] = (HEALTH_PORT,),
) -> _Own:
    return _Own(environment or {}, files or {}, variables or {}, ports)


def _access(config: Config) -> Files:
    return {"access_secret": config.secrets.access_secret} if config.secrets.access_secret else {}


def _keys_of_evidence(config: Config) -> Files:
    if not config.env_opens_answers:
        return {}
    return {
        "sealing_private_key": config.secrets.sealing_private_key,
        "sealing_public_key": config.secrets.sealing_public_key,
    }


def _pool(config: Config, name: str, own: _Own) -> Block:
    pool = config.pools[name]
    everywhere = {
        "ODRADEK_PARTITIONS": str(config.partitions),
        "ODRADEK_BLOB_STORE": config.blob_store,
        "ODRADEK_HTTP_HOST": "0.0.0.0",
        "ODRADEK_HTTP_PORT": str(HEALTH_PORT),
        "ODRADEK_DRAIN_TIMEOUT_SECONDS": str(pool.stop_seconds - 20),
    }
    files = {**_kafka_files(config), **own.files}
    return Block(
        name=name,
        image=_image(config, name),
        size=pool,
        environment=_kafka(config) | everywhere | _paths(files) | own.environment | pool.environment,
        files=files,
        variables=own.variables,
        ports=own.ports,
        disk_gib=pool.disk_gib,
        stop_seconds=pool.stop_seconds,
    )


def _exporter(config: Config) -> Block:
    files = _kafka_files(config)
    environment = {
        "ODRADEK_LOAD_WORKERS_CLOUD_MAP": f"{Names(config.deployment).namespace}:{HEALTH_PORT}",
        "ODRADEK_HTTP_HOST": "0.0.0.0",
        "ODRADEK_HTTP_PORT": str(HEALTH_PORT),
        "ODRADEK_CLOUDWATCH_DEPLOYMENT": config.deployment,
    }
    return Block(
        name=EXPORTER,
        image=_image(config, EXPORTER),
        size=config.load_exporter,
        environment=_kafka(config) | environment | _paths(files),
        files=files,
        variables={},
    )


def _topics(config: Config) -> Block:
    files = _kafka_files(config)
    return Block(
        name=TOPICS,
        image=_image(config, "cli"),
        size=TOPICS_SIZE,
        environment=_kafka(config) | {"ODRADEK_PARTITIONS": str(config.partitions)} | _paths(files),
        files=files,
        variables={},
        ports=(),
        command=("topics", "apply"),
    )


def _image(config: Config, target: str) -> str:
    return f"{config.registry}/odradek/{target}:{config.version}"


def _kafka(config: Config) -> Environment:
    kafka = config.kafka
    given = {
        "ODRADEK_BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
        "ODRADEK_TOPIC_PREFIX": config.topic_prefix,
        "ODRADEK_KAFKA_SECURITY_PROTOCOL": kafka.security_protocol,
        "ODRADEK_KAFKA_SASL_MECHANISM": kafka.sasl_mechanism,
        "ODRADEK_KAFKA_USERNAME": kafka.username,
        "ODRADEK_KAFKA_AWS_REGION": kafka.msk_cluster.split(":")[3] if kafka.msk_cluster else None,
        "AWS_REGION": config.region,
        "AWS_DEFAULT_REGION": config.region,
    }
    return {name: value for name, value in given.items() if value is not None}


def _kafka_files(config: Config) -> Files:
    kafka = config.kafka
    given = {
        "kafka_password": kafka.password,
        "kafka_ca": kafka.ca,
        "kafka_certificate": kafka.certificate,
        "kafka_key": kafka.key,
    }
    return {name: arn for name, arn in given.items() if arn is not None}


def _paths(files: Files) -> Environment:
    """The settings that say where a service's secrets lie."""
    return {f"ODRADEK_{name.upper()}_FILE": f"{SECRETS}/{name}" for name in files}
