"""A deployment is made, made again, changed and removed, against moto."""

from collections.abc import Callable, Iterable
from typing import Any

import boto3
import pytest

from odradek_ecs.aws import Aws, DeployError
from odradek_ecs.config import Config
from odradek_ecs.names import SERVICES
from odradek_ecs.preflight import look_around
from odradek_ecs.settle import Action, Change, settle
from odradek_ecs.stack import steps
from odradek_ecs.teardown import remove_all
from odradek_schemas.topics import WORKERS

Edit = Callable[[str, str], Config]


def up(config: Config, aws: Aws, dry: bool = False) -> list[Change]:
    """What was done."""
    every = settle(steps(config, look_around(config, aws)), aws, dry)
    return [change for change in every if change.action is not Action.KEEP]


def told(changes: Iterable[Change]) -> list[str]:
    return [f"{change.action} {change.kind} {change.name}" for change in changes]


def services() -> dict[str, Any]:
    found = boto3.client("ecs").describe_services(cluster="odradek-prod", services=list(SERVICES))["services"]
    return {one["serviceName"]: one for one in found}


def test_up_makes_all_services_and_a_second_up_changes_nothing(config: Config, aws: Aws, calls: Any) -> None:
    planned = told(up(config, aws, dry=True))
    assert calls.changes() == [], "a plan changes nothing"

    done = told(up(config, aws))
    assert done == planned
    assert {line.split()[0] for line in done} == {"create"}
    assert set(services()) == {*WORKERS, "load-exporter"}
    assert {name: one["desiredCount"] for name, one in services().items()} == {
        "load-exporter": 1,
        "task-producer": 1,
        "agent-worker": 1,
        "env-worker": 0,
        "verifier-worker": 0,
        "model-gateway": 1,
    }

    calls.made.clear()
    assert up(config, aws) == []
    assert calls.changes() == []


def test_a_new_version_is_rolled_out_and_nothing_else(
    config: Config, aws: Aws, edit: Edit, calls: Any
) -> None:
    pass
