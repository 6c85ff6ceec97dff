"""Environments and harnesses are plug-ins, found by name through entry points."""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from odradek.environment import Environment
from odradek.harness import Harness
from odradek.harnesses.program import PREFIX, Program

ENVIRONMENTS = "odradek.environments"
HARNESSES = "odradek.harnesses"

_P = TypeVar("_P", Environment, Harness)


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


def environment_names() -> list[str]:
    return sorted(entry_points(group=ENVIRONMENTS).names)


def harness_names() -> list[str]:
    return sorted(entry_points(group=HARNESSES).names)


@cache
def load_environment(name: str) -> Environment:
    """The environment called `name`, one instance per process.

    Raises:
        UnknownPlugin: no installed package brings it.
        BrokenPlugin: its code does not load, or is no environment of that name.
    """
    point = _find(ENVIRONMENTS, name, environment_names())
    plugin = _instance(point)
    if not isinstance(plugin, Environment):
        raise BrokenPlugin(point, "is no Environment")
    return _named(plugin, point)


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


def _instance(point: EntryPoint) -> object:
    try:
        return point.load()()
    except Exception as error:
        raise BrokenPlugin(point, f"does not load: {error!r}") from error


def _named(plugin: _P, point: EntryPoint) -> _P:
    if plugin.name != point.name:
        raise BrokenPlugin(point, f"names itself {plugin.name!r}")
    return plugin
