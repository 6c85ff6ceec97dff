"""A deployment is made, made again, changed and removed, against moto."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import boto3
import pytest
from typer.testing import CliRunner

from odradek_ecs.app import app
from odradek_ecs.aws import Aws, DeployError
from odradek_ecs.config import Config
from odradek_ecs.names import SERVICES, Names
from odradek_ecs.preflight import look_around
from odradek_ecs.progress import standings, wait_until_well
from odradek_ecs.settle import Action, Change, settle
from odradek_ecs.stack import EVERYTHING, steps
from odradek_ecs.teardown import remove_all
from odradek_schemas.topics import WORKERS

Edit = Callable[[str, str], Config]


def up(config: Config, aws: Aws, dry: bool = False) -> list[str]:
    """What was done."""
    return told(settle(steps(config, look_around(config, aws)), aws, dry))


def told(changes: Iterable[Change]) -> list[str]:
    return [f"{one.action} {one.kind} {one.name}" for one in changes if one.action is not Action.KEEP]


def services() -> dict[str, Any]:
    found = boto3.client("ecs").describe_services(cluster="odradek-prod", services=list(SERVICES))["services"]
    return {one["serviceName"]: one for one in found}


def live_clusters() -> list[Any]:
    """ECS lists those that are gone for a while."""
    ecs = boto3.client("ecs")
    found = ecs.describe_clusters(clusters=ecs.list_clusters()["clusterArns"])["clusters"]
    return [one for one in found if one["status"] != "INACTIVE"]


def left() -> dict[str, list[str]]:
    """All that there is in AWS of what a deployment makes."""
    ecs, iam, ec2 = boto3.client("ecs"), boto3.client("iam"), boto3.client("ec2")
    scaling, cloud_map = boto3.client("application-autoscaling"), boto3.client("servicediscovery")
    return {
        "clusters": [one["clusterName"] for one in live_clusters()],
        "definitions": ecs.list_task_definitions(status="ACTIVE")["taskDefinitionArns"],
        "roles": [role["RoleName"] for role in iam.list_roles()["Roles"]],
        "groups": [group["GroupName"] for group in ec2.describe_security_groups()["SecurityGroups"]],
        "namespaces": [space["Name"] for space in cloud_map.list_namespaces()["Namespaces"]],
        "discoveries": [entry["Name"] for entry in cloud_map.list_services()["Services"]],
        "logs": [group["logGroupName"] for group in boto3.client("logs").describe_log_groups()["logGroups"]],
        "targets": [
            t["ResourceId"]
            for t in scaling.describe_scalable_targets(ServiceNamespace="ecs")["ScalableTargets"]
        ],
        "policies": [
            p["PolicyName"]
            for p in scaling.describe_scaling_policies(ServiceNamespace="ecs")["ScalingPolicies"]
        ],
        "alarms": [a["AlarmName"] for a in boto3.client("cloudwatch").describe_alarms()["MetricAlarms"]],
    }


def test_a_life(config: Config, aws: Aws, edit: Edit, calls: Any, push: Callable[[str, str], None]) -> None:
    """One deployment from its plan to its end: to make it takes most of the time of these tests."""
    before = left()
    planned = up(config, aws, dry=True)
    assert calls.changes() == [], "a plan changes nothing"

    assert up(config, aws) == planned
    assert {line.split()[0] for line in planned} == {"create"}
    assert set(services()) == set(SERVICES)
    assert "planted" not in repr([asked for name, asked in calls.made]), "secrets are named, never read"

    calls.made.clear()
    assert up(config, aws) == [], "what is as it should be is left alone"
    assert calls.changes() == []

    for target in (*SERVICES, "cli"):
        push(target, "0.2.0")
    newer = edit('version = "0.1.0"', 'version = "0.2.0"')
    rolled = up(newer, aws)
    assert rolled == [
        *(f"change task definition {name}" for name in EVERYTHING),
        "change job topics",
        *(f"change service {name}" for name in SERVICES),
    ]
    assert not any("desiredCount" in asked for asked in calls.of("ecs.UpdateService")), (
        "that is the autoscaler's"
    )
    assert {one["taskDefinition"].rsplit(":")[-1] for one in services().values()} == {"2"}

    boto3.client("ecs").update_service(
        cluster="odradek-prod", service="env-worker", taskDefinition="odradek-prod-env-worker:1"
    )
    assert up(newer, aws) == ["change service env-worker"], "rolled back, by ECS or by hand"

    awake = edit("min = 0\nmax = 16", "min = 1\nmax = 12")
    assert sorted(up(awake, aws)) == [
        "change target verifier-worker",
        "remove alarm verifier-worker",
        "remove policy verifier-worker/wake",
    ]

    told(remove_all(aws))
    assert left() == before, "Kafka's group and the rest of the account are as they were"
    assert told(remove_all(aws)) == []


def test_what_is_missing_is_told_at_once_and_nothing_is_made(
    world: Path, config: Config, aws: Aws, edit: Edit, calls: Any
) -> None:
    boto3.client("ssm").put_parameter(Name="/odradek/key", Value="planted", Type="SecureString")
    calls.made.clear()
    text = world.read_text()
    for name, parameter in (("public", "odradek/key"), ("private", "odradek/none")):
        arn = f"arn:aws:ssm:eu-central-1:123456789012:parameter/{parameter}"
        text = re.sub(rf'sealing_{name}_key = ".*"', f'sealing_{name}_key = "{arn}"', text)
    world.write_text(re.sub("(access_secret = .*):eu-central-1:", r"\1:us-east-1:", text))
    edit(config.network.subnets[0], "subnet-00000000000000000")
    edit('"s3://example-odradek-blobs', '"s3://nobodys-blobs')
    edit("secret:odradek/openai", "secret:odradek/closed")
    broken = edit('version = "0.1.0"', 'version = "9.9.9"')

    with pytest.raises(DeployError) as error:
        up(broken, aws)
    lines = str(error.value).splitlines()
    assert "network.subnets: there is no subnet-00000000000000000 in eu-central-1" in lines
    assert any(line.startswith("blob_store: there is no bucket nobodys-blobs") for line in lines)
    assert any("secret:odradek/closed" in line and "create-secret" in line for line in lines)
    assert any(":us-east-1:" in line and "is not in eu-central-1" in line for line in lines)
    [parameter] = [line for line in lines if line.startswith("parameter ")]
    assert parameter.startswith(
        "parameter arn:aws:ssm:eu-central-1:123456789012:parameter/odradek/none: is not there"
    )
    assert sum(line.startswith("image ") for line in lines) == len(WORKERS) + 2
    assert calls.changes() == []
    assert not calls.of("ssm.GetParameter"), "what secrets hold is never asked"


def test_what_belongs_to_somebody_else_is_left_alone(config: Config, aws: Aws, calls: Any) -> None:
    boto3.client("logs").create_log_group(logGroupName="/odradek/prod")
    calls.made.clear()
    with pytest.raises(DeployError, match="log group /odradek/prod: is there and belongs to somebody else"):
        up(config, aws)
    with pytest.raises(DeployError, match="belongs to somebody else"):
        told(remove_all(aws))
    assert calls.changes() == []


def test_what_fails_is_told_with_its_reason_and_gone_on_with(config: Config, aws: Aws, calls: Any) -> None:
    def fail(answer: dict[str, Any]) -> None:
        for task in answer["tasks"]:
            task["containers"] = [{"name": "topics", "exitCode": 3, "reason": "no broker"}]

    calls.altered["DescribeTasks"] = fail
    with pytest.raises(DeployError, match=r"topics: exit code 3, no broker; .* log group /odradek/prod"):
        up(config, aws)
    assert services() == {}

    calls.altered.clear()
    again = up(config, aws)
    assert again[0] == "create job topics", "it goes on where it stopped"
    assert set(services()) == {*SERVICES}

    def gave_up(answer: dict[str, Any]) -> None:
        for service in answer["services"]:
            failed = service["serviceName"] == "env-worker"
            service["runningCount"] = service["desiredCount"]
            service["deployments"][0]["rolloutState"] = "FAILED" if failed else "COMPLETED"
            service["deployments"][0]["rolloutStateReason"] = (
                "tasks failed to start" if failed else "it is there"
            )

    calls.altered["DescribeServices"] = gave_up
    assert [(one.name, one.state) for one in standings(aws) if not one.is_well] == [("env-worker", "FAILED")]
    revisions = {name: one["taskDefinition"] for name, one in services().items()}
    with pytest.raises(DeployError, match=r"service env-worker: its new tasks .* tasks failed to start"):
        wait_until_well(aws, revisions)

    del calls.altered["DescribeServices"]
    elsewhere = {**revisions, "agent-worker": revisions["agent-worker"].replace(":1", ":2")}
    with pytest.raises(DeployError, match=r"service agent-worker: .* ECS keeps odradek-prod-agent-worker:1"):
        wait_until_well(aws, elsewhere)


def test_no_cluster_no_services(aws: Aws) -> None:
    assert {one.state for one in standings(aws)} == {"missing"}


def test_a_wait_has_an_end(calls: Any) -> None:
    patient = Aws("eu-central-1", Names("prod"), pause=lambda seconds: None)
    with pytest.raises(DeployError, match="the moon: not after 0 s"):
        patient.until(lambda: None, 0.0, "the moon")


def test_the_command_says_what_it_would_do(world: Path, calls: Any) -> None:
    def run(*words: str) -> Any:
        return CliRunner().invoke(app, [words[0], "--config", str(world), *words[1:]])

    planned = run("plan")
    assert planned.exit_code == 0, planned.output
    assert "create  service env-worker\n" in planned.stdout
    assert planned.stdout.endswith("would be done\n")
    assert run("status").exit_code == 3, "there are no services"
    assert run("down", "--yes").stdout == "nothing to do\n"
    assert calls.changes() == []
