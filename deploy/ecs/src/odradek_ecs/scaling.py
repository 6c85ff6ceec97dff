"""How a pool grows and shrinks: requests to Application Auto Scaling and CloudWatch.

Target tracking holds `LoadPerWorker` at what the pool's block says. Its own alarms act after 3 minutes above the target
and 15 minutes below nine tenths of it, and not at all while data are missing: a pool whose load is unknown stays as it is.

From no workers at all it can't tell how many there should be (a proportion of nothing). There a step policy adds one when
`UnattendedLoad` is 1 or more, and target tracking goes on from there.
"""

from pydantic import JsonValue

from odradek_ecs.config import Pool
from odradek_ecs.names import Names
from odradek_ecs.roles import CLOUDWATCH_NAMESPACE
from odradek_schemas.base import JsonObject

DIMENSION = "ecs:service:DesiredCount"
WAKE_SECONDS = 60
WAKE_AGAIN_SECONDS = 180
"""Pause after a pool was woken: longer than a task takes to start and to join its group."""


def target(pool: Pool) -> JsonObject:
    """What RegisterScalableTarget is asked for."""
    return {"MinCapacity": pool.min, "MaxCapacity": pool.max}


def track(service: str, pool: Pool, deployment: str) -> JsonObject:
    """The policy by which a pool follows its load."""
    return {
        "PolicyType": "TargetTrackingScaling",
        "TargetTrackingScalingPolicyConfiguration": {
            "TargetValue": pool.load_per_worker,
            "CustomizedMetricSpecification": {
                "Namespace": CLOUDWATCH_NAMESPACE,
                "MetricName": "LoadPerWorker",
                "Dimensions": _dimensions(service, deployment),
                "Statistic": "Average",
            },
            "ScaleOutCooldown": pool.scale_out_seconds,
            "ScaleInCooldown": pool.scale_in_seconds,
        },
    }


def wake(pool: Pool) -> JsonObject | None:
    """The policy by which a pool without workers gets its first; None: the pool always has one."""
    if pool.min > 0:
        return None
    return {
        "PolicyType": "StepScaling",
        "StepScalingPolicyConfiguration": {
            "AdjustmentType": "ChangeInCapacity",
            "StepAdjustments": [{"MetricIntervalLowerBound": 0.0, "ScalingAdjustment": 1}],
            "Cooldown": WAKE_AGAIN_SECONDS,
        },
    }


def wake_alarm(service: str, pool: Pool, deployment: str, policy_arn: str) -> JsonObject | None:
    """The alarm that fires that policy."""
    if pool.min > 0:
        return None
    return {
        "AlarmName": Names(deployment).wake_alarm(service),
        "AlarmDescription": f"{service} has work and no workers.",
        "Namespace": CLOUDWATCH_NAMESPACE,
        "MetricName": "UnattendedLoad",
        "Dimensions": _dimensions(service, deployment),
        "Statistic": "Maximum",
        "Period": WAKE_SECONDS,
        "EvaluationPeriods": 1,
        "Threshold": 1.0,
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "TreatMissingData": "notBreaching",
        "AlarmActions": [policy_arn],
    }


def _dimensions(service: str, deployment: str) -> list[JsonValue]:
    return [{"Name": "Deployment", "Value": deployment}, {"Name": "Pool", "Value": service}]
