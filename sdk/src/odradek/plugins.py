"""Environments and harnesses are plug-ins, found by name through entry points."""

import json
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from pydantic import ValidationError

from odradek.environment import Environment, NoSettings
from odradek.harness import Harness
from odradek.harnesses.program import PREFIX, Program
from odradek_schemas.base import JsonObject
from odradek_schemas.codec import explain

ENVIRONMENTS = "odradek.environments"
HARNESSES = "odradek.harnesses"

_P = TypeVar("_P", Environment, Harness)

_MOST_ENVIRONMENTS = 64
"""Environments kept at hand, each with its settings."""


class PluginError(Exception):
    """A plug-in can't be used."""


class UnknownPlugin(PluginError):
    """No installed package brings a plug-in of that name."""

    def __init__(self, group: str, name: str, known: list[str]) -> None:
        there = ", ".join(known) or "none"
        super().__init__(f"no {name!r} in {group}; installed: {there}. Install the package that brings it.")
        self.name = name
        self.known = known


class BrokenPlugin(PluginError):
    """A plug-in is installed but does not load, or is not what its group asks for."""

    def __init__(self, point: EntryPoint, reason: str) -> None:
        super().__init__(f"{point.value} ({point.group}: {point.name}) {reason}")


class InvalidSettings(PluginError):
    """An environment does not take the settings that it was given."""

    def __init__(self, name: str, reason: str, known: Iterable[str]) -> None:
        takes = ", ".join(known) or "none"
        super().__init__(f"settings of environment {name!r}: {reason}. It takes: {takes}")


def environment_names() -> list[str]:
    return sorted(entry_points(group=ENVIRONMENTS).names)


def harness_names() -> list[str]:
    return sorted(entry_points(group=HARNESSES).names)


def load_environment(name: str, settings: JsonObject | None = None) -> Environment:
    """The environment called `name` with its settings; a process keeps some at hand.

    Raises:
        UnknownPlugin: no installed package brings it.
        BrokenPlugin: its code does not load, or is no environment of that name.
        InvalidSettings: it does not take these settings.
    """
    return _configured(name, json.dumps(settings or {}, sort_keys=True))


@lru_cache(_MOST_ENVIRONMENTS)
def _configured(name: str, settings: str) -> Environment:
    point = _find(ENVIRONMENTS, name, environment_names())
    given = json.loads(settings)
    try:
        plugin = _instance(point, given) if given else _instance(point)
    except BrokenPlugin as error:
        if given and isinstance(error.__cause__, ValidationError):
            takes = getattr(point.load(), "Settings", NoSettings)
            raise InvalidSettings(name, explain(error.__cause__), takes.model_fields) from error
        raise
    if not isinstance(plugin, Environment):
        raise BrokenPlugin(point, "is no Environment")
    return _named(plugin, point)


def forget() -> None:
    """Forget what was loaded: the next one who asks finds what is installed then."""
    _configured.cache_clear()
    load_harness.cache_clear()


@cache
def load_harness(name: str) -> Harness:
    """The harness called `name`, one instance per process; `program:<name>` lets a program play.

    Raises:
        UnknownPlugin: no installed package brings it.
        BrokenPlugin: its code does not load, or is no harness of that name.
    """
    if name.startswith(PREFIX):
        return Program(name.removeprefix(PREFIX))
    point = _find(HARNESSES, name, harness_names())
    plugin = _instance(point)
    if not isinstance(plugin, Harness):
        raise BrokenPlugin(point, "is no Harness")
    return _named(plugin, point)


def _find(group: str, name: str, known: list[str]) -> EntryPoint:
    found = entry_points(group=group, name=name)
    if not found:
        raise UnknownPlugin(group, name, known)
    return next(iter(found))


def _instance(point: EntryPoint, *arguments: object) -> object:
    try:
        return point.load()(*arguments)
    except Exception as error:
        raise BrokenPlugin(point, f"does not load: {error!r}") from error


def _named(plugin: _P, point: EntryPoint) -> _P:
    if plugin.name != point.name:
        raise BrokenPlugin(point, f"names itself {plugin.name!r}")
    return plugin
