"""What makes services grow and shrink: scalable targets, policies, alarms. None bears tags that tell: AWS is compared."""

from typing import Any

from odradek_ecs.aws import Aws, digest, upper
from odradek_ecs.kinds.kind import Found
from odradek_ecs.scaling import DIMENSION
from odradek_schemas.base import JsonObject

_ECS = {"ServiceNamespace": "ecs", "ScalableDimension": DIMENSION}


def holds(actual: Any, wanted: Any) -> bool:
    """Whether `actual` says all that `wanted` says; what AWS adds of its own does not count."""
    if isinstance(wanted, dict):
        return isinstance(actual, dict) and all(
            holds(actual.get(key), value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(actual, list)
            and len(actual) == len(wanted)
            and all(any(holds(one, value) for one in actual) for value in wanted)
        )
    return bool(actual == wanted)


def _found(id: str, actual: dict[str, Any], wanted: JsonObject | None) -> Found:
    return Found(id, digest(wanted) if wanted is not None and holds(actual, wanted) else None)


class Targets:
    """How few and how many tasks a service may have. `wanted`: MinCapacity, MaxCapacity."""

    def __init__(self, aws: Aws) -> None:
        self._aws, self._scaling = aws, aws.client("application-autoscaling")

    def find(self, name: str, wanted: JsonObject | None) -> Found | None:
        of = self._aws.names.resource_id(name)
        found = self._scaling.describe_scalable_targets(ServiceNamespace="ecs", ResourceIds=[of])[
            "ScalableTargets"
        ]
        return _found(of, found[0], wanted) if found else None

    def put(self, name: str, wanted: JsonObject, found: Found | None) -> str:
        of = self._aws.names.resource_id(name)
        self._scaling.register_scalable_target(**_ECS, ResourceId=of, **wanted)
        return of

    def remove(self, name: str, found: Found) -> None:
        self._scaling.deregister_scalable_target(**_ECS, ResourceId=found.id)


class Policies:
    """Scaling policies, named `<service>/<policy>`. `wanted`: PolicyType and its configuration."""

    def __init__(self, aws: Aws) -> None:
        self._aws, self._scaling = aws, aws.client("application-autoscaling")

    def find(self, name: str, wanted: JsonObject | None) -> Found | None:
        service, policy = name.split("/")
        of = self._aws.names.resource_id(service)
        found = self._scaling.describe_scaling_policies(ServiceNamespace="ecs", ResourceId=of)[
            "ScalingPolicies"
        ]
        named = [one for one in found if one["PolicyName"] == policy]
        return _found(named[0]["PolicyARN"], named[0], wanted) if named else None

    def put(self, name: str, wanted: JsonObject, found: Found | None) -> str:
        service, policy = name.split("/")
        of = self._aws.names.resource_id(service)
        return str(
            self._scaling.put_scaling_policy(**_ECS, PolicyName=policy, ResourceId=of, **wanted)["PolicyARN"]
        )

    def remove(self, name: str, found: Found) -> None:
        service, policy = name.split("/")
        of = self._aws.names.resource_id(service)
        self._scaling.delete_scaling_policy(**_ECS, PolicyName=policy, ResourceId=of)


class Alarms:
    """Alarms of our own. `wanted`: as PutMetricAlarm has it."""

    def __init__(self, aws: Aws) -> None:
        self._aws, self._watch = aws, aws.client("cloudwatch")

    def find(self, name: str, wanted: JsonObject | None) -> Found | None:
        found = self._watch.describe_alarms(AlarmNames=[self._aws.names.wake_alarm(name)])["MetricAlarms"]
        return _found(found[0]["AlarmName"], found[0], wanted) if found else None

    def put(self, name: str, wanted: JsonObject, found: Found | None) -> str:
        self._watch.put_metric_alarm(**wanted, Tags=upper(self._aws.owner))
        return str(wanted["AlarmName"])

    def remove(self, name: str, found: Found) -> None:
        self._watch.delete_alarms(AlarmNames=[found.id])
