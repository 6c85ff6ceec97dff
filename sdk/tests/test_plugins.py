"""Plug-ins are found by name; what is wrong with one is said."""

from importlib.metadata import EntryPoint, EntryPoints

import pytest
from pydantic import BaseModel

from odradek import Environment, Harness, Reward, Rollout, Trajectory, plugins
from odradek.plugins import (
    BrokenPlugin,
    InvalidSettings,
    UnknownPlugin,
    environment_names,
    harness_names,
    load_environment,
    load_harness,
)


class Here(Environment):
    name = "here"

    class Task(BaseModel): ...

    def verify(self, trajectory: Trajectory, answer: None) -> Reward:
        return Reward(reward=0.0)


class Idle(Harness):
    name = "idle"

    async def run(self, rollout: Rollout) -> None: ...


@pytest.fixture
def installed(monkeypatch):
    """Entry points as if a package had brought them: {group: {name: value}}."""

    def install(**groups: dict[str, str]) -> None:
        points = EntryPoints(
            EntryPoint(name=name, value=value, group=f"odradek.{group}")
            for group, values in groups.items()
            for name, value in values.items()
        )
        monkeypatch.setattr(plugins, "entry_points", points.select)

    plugins.forget()
    yield install
    plugins.forget()


def test_what_comes_with_odradek_is_there():
    assert {"single_turn", "tool_calling"} <= set(harness_names())
    assert load_harness("tool_calling").name == "tool_calling"


def test_environments_load_once(installed):
    installed(environments={"here": f"{__name__}:Here"})
    assert environment_names() == ["here"]
    assert isinstance(load_environment("here"), Here)
    assert load_environment("here") is load_environment("here")


class Dial(Here):
    name = "dial"

    class Settings(BaseModel):
        level: int = 1


def test_settings_are_given_and_checked(installed):
    installed(environments={"dial": f"{__name__}:Dial"})
    assert load_environment("dial").settings.level == 1
    assert load_environment("dial", {"level": 3}).settings.level == 3
    assert load_environment("dial", {"level": 3}) is load_environment("dial", {"level": 3})
    for wrong, what in ({"level": "high"}, "level: .*integer"), ({"pitch": 1}, "pitch: Extra inputs"):
        with pytest.raises(InvalidSettings, match=f"settings of environment 'dial': {what}"):
            load_environment("dial", wrong)


def test_an_unknown_name_lists_what_is_there(installed):
    installed(environments={"here": "x:Y", "also": "x:Y"}, harnesses={"idle": "x:Y"})
    with pytest.raises(UnknownPlugin, match=r"no 'there' .* installed: also, here"):
        load_environment("there")
    with pytest.raises(UnknownPlugin, match="installed: idle"):
        load_harness("there")


def test_nothing_installed_is_said(installed):
    installed()
    with pytest.raises(UnknownPlugin, match="installed: none"):
        load_environment("here")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no.such.module:Here", "does not load"),
        (f"{__name__}:Missing", "does not load"),
        ("odradek:Environment", "does not load"),
        (f"{__name__}:Idle", "is no Environment"),
        (f"{__name__}:Here", "names itself 'here'"),
    ],
)
def test_a_broken_environment_says_why(installed, value, reason):
    installed(environments={"wanted": value})
    with pytest.raises(BrokenPlugin, match=reason) as caught:
        load_environment("wanted")
    assert value in str(caught.value)


def test_an_environment_is_no_harness(installed):
    installed(harnesses={"here": f"{__name__}:Here"})
    with pytest.raises(BrokenPlugin, match="is no Harness"):
        load_harness("here")
