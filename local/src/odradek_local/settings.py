"""Settings of the local stack, from the environment (`ODRADEK_` in front) or from the command that starts it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from odradek.models import ModelSettings
from odradek_runtime.bounds import MOST_PARTITIONS, MOST_PORT
from odradek_schemas.topics import WORKERS

KAFKA_PORT = 9092
KAFKA_JAVA_OPTIONS = "-Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""The quick compiler alone: the thorough one takes half of a broker's CPU in its first minutes, and most local stacks
live no longer. Leave the last option out for a stack that is to be measured."""
VALKEY_PORT = 6379
MODEL_PORT = 8100
SERVICES_PORT = 8200
FRONT_PORT = 8300
Port = Annotated[int, Field(ge=0, le=MOST_PORT)]
POOLS: tuple[str, ...] = WORKERS
"""The five services, each a pool of replicas."""


def check_scale(scale: Mapping[str, int], partitions: int) -> None:
    """Raises ValueError for a service that there is not, and for a number of replicas that makes no sense."""
    for pool, replicas in scale.items():
        if pool not in POOLS:
            raise ValueError(f"there is no pool {pool!r} to scale; there are {', '.join(POOLS)}")
        if not 0 <= replicas <= partitions:
            raise ValueError(
                f"{pool}={replicas}: must be from 0 to {partitions}, the number of partitions; one more would be idle"
            )


class LocalSettings(BaseSettings):
    """What the local stack is made with. A port that is taken is replaced by a free one, and said."""

    model_config = SettingsConfigDict(env_prefix="ODRADEK_", extra="ignore")

    data_dir: Path = Path("~/.local/share/odradek")
    kafka_port: Port = KAFKA_PORT
    kafka_java_options: str = Field(KAFKA_JAVA_OPTIONS, description="of the broker's JVM")
    valkey_port: Port = VALKEY_PORT
    model_port: Port = MODEL_PORT
    services_port: Port = Field(
        SERVICES_PORT, description="of the first service; the others take the ports after it"
    )
    front_port: Port = Field(FRONT_PORT, description="of the model gateway, for agent programs")
    partitions: int = Field(
        4, ge=1, le=MOST_PARTITIONS, description="of each topic; else as many as they have"
    )
    topic_prefix: str = "odradek."
    blob_store: str | None = Field(
        None, description="where large values go: s3://bucket/prefix; None: a folder in the data directory"
    )
    models: dict[str, ModelSettings] = Field({}, description="besides the local one, by name")
    scale: dict[str, int] = Field({}, description="replicas by service; one of each that is not named")
    local_model: bool = Field(True, description="whether to run the small model")

    @model_validator(mode="after")
    def _has_a_model(self) -> Self:
        if not self.local_model and not self.models:
            raise ValueError(
                "without the local model, at least one other is needed: odradek up --model NAME=URL"
            )
        return self

    @model_validator(mode="after")
    def _goes_on_as_it_was(self) -> Self:
        """The topics of a stack that has run before keep their number of partitions, unless another is asked for."""
        if "partitions" not in self.model_fields_set and self.partitions_file.exists():
            self.partitions = int(self.partitions_file.read_text())
        return self

    @model_validator(mode="after")
    def _can_be_scaled_so(self) -> Self:
        check_scale(self.scale, self.partitions)
        return self

    @property
    def partitions_file(self) -> Path:
        """How many partitions the topics had when the stack was last up."""
        return self.folder / "partitions"

    @property
    def folder(self) -> Path:
        """The data directory, absolute."""
        return self.data_dir.expanduser().absolute()
