"""The gateway's settings: the models of `odradek.toml` (`ODRADEK_CONFIG`) and of `ODRADEK_MODELS` (JSON)."""

import os
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import BeforeValidator, Field, RedisDsn
from pydantic_settings import NoDecode, SettingsConfigDict

from odradek.models import ConfigError, ModelSettings, read_config, unlike
from odradek_runtime.settings import SettingsError, WorkerSettings, read_settings

_EXAMPLE = '{"small": {"base_url": "http://127.0.0.1:8000/v1", "model": "the name that the server knows"}}'


def _read_models(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error}); an example: {_EXAMPLE}") from error


class GatewaySettings(WorkerSettings):
    """What the gateway needs besides what every worker needs."""

    model_config = SettingsConfigDict(env_prefix="ODRADEK_", extra="ignore", hide_input_in_errors=True)

    config: Path | None = Field(default=None, description="An odradek.toml with models.")
    models: Annotated[
        dict[str, ModelSettings],
        NoDecode,
        BeforeValidator(_read_models),
        Field(default_factory=dict, description=f"Models by the name that runs ask for: {_EXAMPLE}"),
    ]
    front_host: str = Field(default="127.0.0.1", description="Where the HTTP front end listens.")
    front_port: int | None = Field(
        default=None, ge=0, le=65535, description="Its port; 0: a free one. None: there is no HTTP front end."
    )
    access_secret_file: Path | None = Field(
        default=None, description="The secret with which tokens for the HTTP front end are signed."
    )
    redis_url: RedisDsn | None = Field(
        default=None,
        repr=False,
        description="A Redis or Valkey, redis://HOST:PORT/DB, where all gateways share limits; None: each has its own.",
    )
    max_in_flight: int = Field(default=256, ge=1, le=800, description="Most calls at once of one partition.")


def load_settings() -> GatewaySettings:
    """Read the settings from the environment. `models` are then those of the file, too; where both name one, the
    variable's counts.

    Raises:
        SettingsError: names each variable (`ODRADEK_MODELS.<name>.<field>`) and what is wrong with it.
    """
    try:
        settings = read_settings(GatewaySettings)
        models = read_config(settings.config, os.environ) if settings.config else {}
    except ConfigError as error:
        raise SettingsError(f"ODRADEK_CONFIG: {error}") from error
    if settings.front_port is not None and settings.access_secret_file is None:
        raise SettingsError(
            "ODRADEK_ACCESS_SECRET_FILE: is needed with ODRADEK_FRONT_PORT, to know whose calls they are"
        )
    _check_keys(settings.models)
    models |= settings.models
    if not models:
        raise SettingsError(f"ODRADEK_MODELS: no model is named; set it to such as {_EXAMPLE}")
    if odd := [f"ODRADEK_MODELS.{where} {what}" for where, what in unlike(models)]:
        raise SettingsError("; ".join(odd))
    return settings.model_copy(update={"models": models})


def _check_keys(models: dict[str, ModelSettings]) -> None:
    for name, model in models.items():
        try:
            model.key(os.environ)
        except ValueError as error:
            raise SettingsError(f"ODRADEK_MODELS.{name}.api_key_env: {error}") from error
