"""Makes AWS as a deployment's steps want it: one thing after another, each only where it is missing or other."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from botocore.exceptions import BotoCoreError, ClientError

from odradek_ecs.aws import Aws, DeployError, digest
from odradek_ecs.kinds.ground import (
    Clusters,
    Discoveries,
    Ingress,
    LogGroups,
    Namespaces,
    Roles,
    SecurityGroups,
)
from odradek_ecs.kinds.growth import Alarms, Policies, Targets
from odradek_ecs.kinds.kind import Found, Kind
from odradek_ecs.kinds.work import Jobs, Services, TaskDefinitions
from odradek_ecs.stack import Step
from odradek_schemas.base import JsonObject


class Action(StrEnum):
    """What is to be done with a thing."""

    KEEP = "keep"
    CREATE = "create"
    CHANGE = "change"
    REMOVE = "remove"


@dataclass(frozen=True)
class Change:
    """What is done, or was."""

    action: Action
    kind: str
    name: str


def kinds(aws: Aws) -> dict[str, Kind]:
    """Each kind of thing, by the name that steps use."""
    return {
        "log group": LogGroups(aws),
        "cluster": Clusters(aws),
        "namespace": Namespaces(aws),
        "role": Roles(aws),
        "security group": SecurityGroups(aws),
        "ingress": Ingress(aws),
        "task definition": TaskDefinitions(aws),
        "job": Jobs(aws),
        "discovery": Discoveries(aws),
        "service": Services(aws),
        "target": Targets(aws),
        "policy": Policies(aws),
        "alarm": Alarms(aws),
    }


def decide(wanted: JsonObject | None, found: Found | None) -> Action:
    """What is to be done."""
    if wanted is None:
        return Action.REMOVE if found else Action.KEEP
    if found is None:
        return Action.CREATE
    return Action.KEEP if found.digest == digest(wanted) else Action.CHANGE


def settle(steps: Iterable[Step], aws: Aws, dry: bool = False) -> Iterator[Change]:
    """Make each thing as it is wanted; yields what was done. `dry`: only what would be done.

    Raises:
        DeployError: AWS refuses, something is another's, or does not get ready in time.
    """
    known: dict[str, str] = {}
    every = kinds(aws)
    for step in steps:
        wanted = step.build(known)
        with telling(step.kind, step.name):
            found = every[step.kind].find(step.name, wanted)
            check_owner(step, found, aws)
            action = decide(wanted, found)
            known[step.key] = _act(every[step.kind], step, wanted, found, action, dry)
        yield Change(action, step.kind, step.name)


def _act(
    kind: Kind, step: Step, wanted: JsonObject | None, found: Found | None, action: Action, dry: bool
) -> str:
    if action is Action.KEEP:
        return found.id if found else ""
    if dry:
        return found.id if found and step.kind not in _REPLACED else f"<the new {step.kind} {step.name}>"
    if wanted is None:
        if found:
            kind.remove(step.name, found)
        return ""
    return kind.put(step.name, wanted, found)


_REPLACED = ("task definition",)
"""Kinds of which a change makes another one, with another id."""


def check_owner(step: Step, found: Found | None, aws: Aws) -> None:
    """Raises DeployError when a thing of that name is not this deployment's."""
    if found and found.owner is not None and found.owner != aws.names.deployment:
        whose = f"deployment {found.owner}" if found.owner else "somebody else"
        raise DeployError(
            f"{step.kind} {step.name}: is there and belongs to {whose}: choose another `deployment`"
        )


class telling:  # noqa: N801
    """Says of what AWS complained."""

    def __init__(self, kind: str, name: str) -> None:
        self._what = f"{kind} {name}"

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ClientError):
            said = error.response["Error"]
            operation = error.operation_name
            raise DeployError(
                f"{self._what}: {operation}: {said.get('Code')}: {said.get('Message')}"
            ) from error
        if isinstance(error, BotoCoreError):
            raise DeployError(f"{self._what}: {error}") from error
