"""An operator's policies: the defaults, then a file, then single settings."""

import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from odradek_scaling.load import POOLS
from odradek_scaling.policy import DEFAULTS, Policies

EXAMPLE = "env-worker.max=8"


class PolicyError(Exception):
    """A policy that can't be; what, where, what to do."""


def chosen(config: Path | None = None, settings: Iterable[str] = (), only: Collection[str] = ()) -> Policies:
    """The policies of all pools, or of those in `only`. `config`: TOML with a table `[POOL]` for each pool that differs;
    `settings`: `POOL.FIELD=VALUE`.

    Raises:
        PolicyError: the file can't be read, or what it or a setting says can't be.
    """
    pools: dict[str, dict[str, Any]] = DEFAULTS.model_dump()["pools"]
    _overlay(pools, {} if config is None else _read(config), str(config))
    for setting in settings:
        _overlay(pools, _parse(setting), f"--set {setting}")
    unknown = [pool for pool in only if pool not in pools]
    if unknown:
        raise PolicyError(f"there is no pool {unknown[0]!r}; there are {', '.join(DEFAULTS.pools)}")
    return _policies({pool: policy for pool, policy in pools.items() if not only or pool in only}, "policies")


def _overlay(pools: dict[str, dict[str, Any]], more: Mapping[str, Any], where: str) -> None:
    for pool, fields in more.items():
        if pool not in POOLS:
            raise PolicyError(f"{where}: there is no pool {pool!r}; there are {', '.join(POOLS)}")
        if not isinstance(fields, Mapping):
            raise PolicyError(f"{where}: {pool} is not a table of settings, such as [env-worker]")
        pools[pool] = pools.get(pool, {}) | dict(fields)
        _policies({pool: pools[pool]}, where)


def _policies(pools: Mapping[str, Any], where: str) -> Policies:
    try:
        return Policies.model_validate({"pools": pools})
    except ValidationError as error:
        raise PolicyError(f"{where}: {'; '.join(map(_say, error.errors()))}") from error


def _say(problem: ErrorDetails) -> str:
    place = ".".join(map(str, problem["loc"][1:]))
    what = problem["msg"].removeprefix("Value error, ")
    return f"{place}: {what}" if place else what


def _read(config: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(config.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PolicyError(f"{config}: {error}") from error


def _parse(setting: str) -> dict[str, dict[str, str]]:
    name, _, value = setting.partition("=")
    pool, _, field = name.rpartition(".")
    if not pool or not value:
        raise PolicyError(f"--set {setting}: is not POOL.FIELD=VALUE, such as {EXAMPLE}")
    return {pool: {field: value}}
