"""The load exporter's settings. Each is an environment variable with the prefix `ODRADEK_`."""

from typing import Any, Literal

from pydantic import Field, PrivateAttr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from odradek_runtime.brokers import Addresses, Brokers
from odradek_runtime.kafka_security import KafkaSecurity
from odradek_runtime.settings import read_settings
from odradek_scaling.telling import by_name, read_place

PORT = 9400


class ExporterSettings(BaseSettings):
    """Where Kafka and the workers are, and where to answer."""

    model_config = SettingsConfigDict(
        env_prefix="ODRADEK_", extra="ignore", hide_input_in_errors=True, allow_inf_nan=False
    )

    bootstrap_servers: Addresses = Field(default="127.0.0.1:9092", description="Kafka's host:port,host:port.")
    topic_prefix: str = Field(default="odradek.", description="Put before each topic and group name.")
    load_workers_dns: str | None = Field(
        default=None,
        description="HOST:PORT of the workers' /metrics, {pool} for the pool's name; all addresses of the name are "
        "asked. None: workers are not asked.",
    )
    load_workers_cloud_map: str | None = Field(
        default=None,
        description="NAMESPACE:PORT of AWS Cloud Map, where the service of a pool's name has the workers' addresses; "
        "instead of load_workers_dns.",
    )
    cloudwatch_deployment: str | None = Field(
        default=None,
        min_length=1,
        max_length=255,
        description="The dimension `Deployment` of the metrics that CloudWatch is told. None: it is told nothing.",
    )
    cloudwatch_every_seconds: float = Field(default=30.0, ge=1, description="Time between two such tellings.")
    http_host: str = "127.0.0.1"
    http_port: int = Field(default=PORT, ge=0, le=65535, description="0: a free one, which the log tells.")
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"
    _security: KafkaSecurity = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        self._security = read_settings(KafkaSecurity)

    @property
    def brokers(self) -> Brokers:
        """Kafka, with the login of `ODRADEK_KAFKA_...`."""
        return Brokers(self.bootstrap_servers, self._security)

    @field_validator("load_workers_cloud_map")
    @classmethod
    def _is_namespace_and_port(cls, place: str | None) -> str | None:
        if place is not None:
            read_place(place)
        return place

    @field_validator("load_workers_dns")
    @classmethod
    def _is_host_and_port(cls, template: str | None) -> str | None:
        if template is not None:
            by_name(template)
        return template
