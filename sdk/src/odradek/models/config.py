"""`odradek.toml`: one table for each model, `[models.NAME]`, with the fields of `ModelSettings` (docs/models.md)."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from odradek.models.groups import unlike
from odradek.models.settings import ModelSettings
from odradek.toml_files import TomlError, read_toml, say_problem

FILE = "odradek.toml"


class ConfigError(Exception):
    """The file can't be used. A line for each mistake: where, and what is wrong."""


class _Config(BaseModel):
    model_config = ConfigDict(extra="forbid")

    models: dict[str, ModelSettings]


def read_config(path: Path, environment: Mapping[str, str] | None = None) -> dict[str, ModelSettings]:
    """The models of the file, by name. With `environment` their keys must be in it, too.

    Raises:
        ConfigError: the file can't be read, is not TOML, says what nobody knows, models say unlike things of a limit
            that they share, or a key is missing.
    """
    try:
        models = _Config.model_validate(read_toml(path)).models
    except TomlError as error:
        raise ConfigError(str(error)) from error
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        raise ConfigError(
            "\n".join(f"{path}: {say_problem(dict(problem))}" for problem in problems)
        ) from error
    if odd := [f"{path}: models.{where} {what}" for where, what in unlike(models)]:
        raise ConfigError("\n".join(odd))
    if environment is not None:
        _check_keys(path, models, environment)
    return models


def _check_keys(path: Path, models: Mapping[str, ModelSettings], environment: Mapping[str, str]) -> None:
    missing = []
    for name, model in models.items():
        try:
            model.key(environment)
        except ValueError as error:
            missing.append(f"{path}: models.{name}.api_key_env: {error}")
    if missing:
        raise ConfigError("\n".join(missing))
