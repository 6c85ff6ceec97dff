"""The load exporter's settings. Each is an environment variable with the prefix `ODRADEK_`."""

from pydantic import Field, field_validator

from odradek_runtime.settings import ProcessSettings
from odradek_scaling.telling import by_name, read_place

PORT = 9400


class ExporterSettings(ProcessSettings):
    """Where the workers are, whom to tell, and where to answer."""

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
    http_port: int = Field(default=PORT, ge=0, le=65535, description="0: a free one, which the log tells.")

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
