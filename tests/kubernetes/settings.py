"""The settings that each process of the chart reads, and those that the chart gives them itself."""

from pydantic_settings import BaseSettings

from odradek_agent_worker.settings import AgentSettings
from odradek_env_worker.settings import EnvSettings
from odradek_model_gateway.settings import GatewaySettings
from odradek_runtime.kafka_security import KafkaSecurity
from odradek_runtime.settings import SealingKeys, WorkerSettings
from odradek_scaling.settings import ExporterSettings
from odradek_task_producer.settings import ProducerSettings
from odradek_verifier_worker.settings import VerifierSettings

EVERY_WORKER = "every-worker"

_COMMON: tuple[type[BaseSettings], ...] = (WorkerSettings, KafkaSecurity, SealingKeys)
_CLASSES: dict[str, tuple[type[BaseSettings], ...]] = {
    EVERY_WORKER: (WorkerSettings,),
    "task-producer": (ProducerSettings,),
    "agent-worker": (AgentSettings,),
    "env-worker": (EnvSettings,),
    "verifier-worker": (VerifierSettings,),
    "model-gateway": (GatewaySettings,),
    "load-exporter": (ExporterSettings,),
    "topics": (),
    "cli": (),
}

READ_BY_HAND = {"cli": {"ODRADEK_ACCESS_SECRET_FILE"}, "env-worker": {"ODRADEK_PROGRAMS_DIR"}}
"""Variables that a process reads without a settings class."""

OF_THE_CHART = (
    "ODRADEK_BOOTSTRAP_SERVERS",
    "ODRADEK_TOPIC_PREFIX",
    "ODRADEK_PARTITIONS",
    "ODRADEK_BLOB_STORE",
    "ODRADEK_HTTP_HOST",
    "ODRADEK_HTTP_PORT",
    "ODRADEK_LOG_LEVEL",
    "ODRADEK_LOG_FORMAT",
    "ODRADEK_WORKER_ID",
    "ODRADEK_DRAIN_TIMEOUT_SECONDS",
    "ODRADEK_SEALING_PUBLIC_KEY_FILE",
    "ODRADEK_SEALING_PRIVATE_KEY_FILE",
    "ODRADEK_ACCESS_SECRET_FILE",
    "ODRADEK_FLIGHTS_FILE",
    "ODRADEK_GATEWAY_URL",
    "ODRADEK_FRONT_HOST",
    "ODRADEK_FRONT_PORT",
    "ODRADEK_MODELS",
    "ODRADEK_CONFIG",
    "ODRADEK_REDIS_URL",
    "ODRADEK_LOAD_WORKERS_DNS",
    "ODRADEK_LOAD_WORKERS_CLOUD_MAP",
)
"""What values must not set: the chart does, or (a worker's id) nobody should."""


def known(process: str) -> set[str]:
    """The variables with our prefix that a process understands."""
    found = {name for one in (*_COMMON, *_CLASSES[process]) for name in _variables(one)}
    return found | READ_BY_HAND.get(process, set())


def free(process: str) -> list[str]:
    """Those that values may set."""
    of = {name for one in _CLASSES[process] for name in _variables(one)}
    return sorted((of | READ_BY_HAND.get(process, set())) - set(OF_THE_CHART))


def processes() -> list[str]:
    """Those whose settings values may set."""
    return [name for name in _CLASSES if name not in ("topics", "cli")]


def _variables(of: type[BaseSettings]) -> list[str]:
    prefix = of.model_config.get("env_prefix") or ""
    return [f"{prefix}{name}".upper() for name in of.model_fields]
