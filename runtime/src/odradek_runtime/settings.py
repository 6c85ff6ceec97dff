"""Settings that every worker has. Each is an environment variable with the prefix `ODRADEK_`."""

from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, PrivateAttr, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from odradek_runtime.bounds import MOST_PARTITIONS, MOST_PORT
from odradek_runtime.brokers import Addresses, Brokers
from odradek_runtime.kafka_security import KafkaSecurity


class SettingsError(Exception):
    """The settings can't be used. One line: what, where, what to do."""


class ProcessSettings(BaseSettings):
    """What every process of a deployment needs: where Kafka is, what its topics are called, where to answer and log."""

    model_config = SettingsConfigDict(
        env_prefix="ODRADEK_", extra="ignore", hide_input_in_errors=True, allow_inf_nan=False
    )

    bootstrap_servers: Addresses = Field(default="127.0.0.1:9092", description="Kafka's host:port,host:port.")
    topic_prefix: str = Field(default="odradek.", description="Put before each topic and group name.")
    http_host: str = "127.0.0.1"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"
    _security: KafkaSecurity = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        self._security = read_settings(KafkaSecurity)

    @property
    def brokers(self) -> Brokers:
        """Kafka, with the login of `ODRADEK_KAFKA_...`."""
        return Brokers(self.bootstrap_servers, self._security)


class WorkerSettings(ProcessSettings):
    """What a worker needs to find its place. A service's settings extend it."""

    partitions: int = Field(
        default=4, ge=1, le=MOST_PARTITIONS, description="Partitions of the topics; checked at the start."
    )
    blob_store: str = Field(
        default="file:///var/lib/odradek/blobs",
        description="Where large values go: file:///folder or s3://bucket/prefix.",
    )
    worker_id: str | None = Field(
        default=None, description="A stable name makes membership static: a restart takes over at once."
    )
    http_port: int = Field(
        default=0,
        ge=0,
        le=MOST_PORT,
        description="/healthz, /readyz, /metrics; 0: a free one, which the log tells.",
    )
    broker_timeout_seconds: float = Field(
        default=60.0,
        ge=0,
        description="How long a worker that starts waits for a broker or a blob store that is away.",
    )
    session_timeout_seconds: float = Field(
        default=6.0, gt=0, description="Silence after which a worker is dead."
    )
    transaction_timeout_seconds: float = Field(default=10.0, gt=0)
    cycle_timeout_seconds: float = Field(default=8.0, gt=0, description="Deadline of one commit.")
    acquire_timeout_seconds: float = Field(
        default=60.0, gt=0, description="Deadline of taking over a partition."
    )
    drain_timeout_seconds: float = Field(
        default=10.0, gt=0, description="Time for work in flight at SIGTERM."
    )


class SealingKeys(BaseSettings):
    """Where the keys for sealed answers are. Only those who may open them are given the private key."""

    model_config = SettingsConfigDict(env_prefix="ODRADEK_SEALING_", extra="ignore")

    public_key_file: Path | None = None
    private_key_file: Path | None = None


S = TypeVar("S", bound=BaseSettings)


def read_settings(kind: type[S]) -> S:
    """Settings from the environment.

    Raises:
        SettingsError: names each variable and what is wrong with it; never what it holds, which may be secret.
    """
    try:
        return kind()
    except ValidationError as error:
        prefix = kind.model_config.get("env_prefix", "")
        problems = error.errors(include_url=False, include_input=False)
        raise SettingsError("; ".join(_say(problem, prefix) for problem in problems)) from None


def _say(problem: ErrorDetails, prefix: str) -> str:
    what = problem["msg"].removeprefix("Value error, ")
    if not problem["loc"]:
        return what
    variable, *rest = map(str, problem["loc"])
    return f"{'.'.join([prefix + variable.upper(), *rest])}: {what}"
