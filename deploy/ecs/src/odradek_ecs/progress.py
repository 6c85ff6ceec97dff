"""How far services are: what `up` waits for and `status` shows."""

from dataclasses import dataclass
from typing import Any

from odradek_ecs.aws import Aws, DeployError
from odradek_ecs.names import SERVICES

ROLL_OUT_SECONDS = 1200.0
"""Time for the new tasks to be well and the old ones to end, of all services."""


@dataclass(frozen=True)
class Standing:
    """One service. `state`: COMPLETED, IN_PROGRESS, FAILED, or `missing`; `reason` says why."""

    name: str
    state: str
    revision: str = ""
    desired: int = 0
    running: int = 0
    pending: int = 0
    reason: str = ""

    @property
    def is_well(self) -> bool:
        return self.state == "COMPLETED" and self.running >= self.desired


def standings(aws: Aws) -> list[Standing]:
    """All services of the deployment, in the order in which they are started."""
    ecs, cluster = aws.client("ecs"), aws.names.cluster
    try:
        found = ecs.describe_services(cluster=cluster, services=list(SERVICES))["services"]
    except ecs.exceptions.ClusterNotFoundException:
        found = []
    by_name = {
        service["serviceName"]: _standing(service) for service in found if service["status"] == "ACTIVE"
    }
    return [by_name.get(name, Standing(name, "missing")) for name in SERVICES]


def _standing(service: dict[str, Any]) -> Standing:
    primary = next(one for one in service["deployments"] if one["status"] == "PRIMARY")
    return Standing(
        name=service["serviceName"],
        state=primary.get("rolloutState", "IN_PROGRESS"),
        revision=primary["taskDefinition"].rsplit("/", 1)[-1],
        desired=service["desiredCount"],
        running=service["runningCount"],
        pending=service["pendingCount"],
        reason=primary.get("rolloutStateReason", ""),
    )


def wait_until_well(aws: Aws, revisions: dict[str, str]) -> None:
    """Wait until each service runs the revision (ARN) that it was given.

    Raises:
        DeployError: ECS gave one up and went back to the revision before, or the time is over.
    """

    def look() -> bool | None:
        now = standings(aws)
        if failed := [one for one in now if _failed(one, revisions)]:
            raise DeployError("\n".join(map(_say, failed)))
        return True if all(one.is_well for one in now) else None

    aws.until(look, ROLL_OUT_SECONDS, "the services are not all well (`odradek-ecs status` tells which)")


def _failed(one: Standing, revisions: dict[str, str]) -> bool:
    wanted = revisions[one.name].rsplit("/", 1)[-1]
    return one.state == "FAILED" or one.revision not in ("", wanted)


def _say(one: Standing) -> str:
    return f"service {one.name}: its new tasks don't become well; ECS keeps {one.revision}: {one.reason or 'no reason given'}"
