"""What runs: task definitions, the job that makes the topics, services."""

from typing import Any

from odradek_ecs.aws import Aws, DeployError, digest, lower, mark, read_tags
from odradek_ecs.kinds.kind import Found
from odradek_ecs.names import TOPICS
from odradek_schemas.base import JsonObject

JOB_SECONDS = 600.0
ROLE_SECONDS = 60.0
"""How long a role that was just made may be unknown to ECS."""

GONE_SECONDS = 600.0
TOPICS_TAG = "odradek:topics"

_CHANGEABLE = (
    "cluster", "taskDefinition", "capacityProviderStrategy", "platformVersion", "networkConfiguration",
    "serviceRegistries", "deploymentConfiguration", "enableECSManagedTags", "propagateTags",
)  # fmt: skip


class TaskDefinitions:
    """Task definitions by family; a change is a new revision. `wanted`: as RegisterTaskDefinition has it."""

    def __init__(self, aws: Aws) -> None:
        self._aws, self._ecs = aws, aws.client("ecs")

    def find(self, name: str, wanted: JsonObject | None) -> Found | None:
        family = self._aws.names.of(name)
        if not self._revisions(family, "ACTIVE"):
            return None
        found = self._ecs.describe_task_definition(taskDefinition=family, include=["TAGS"])
        return Found.tagged(found["taskDefinition"]["taskDefinitionArn"], read_tags(found.get("tags", [])))

    def put(self, name: str, wanted: JsonObject, found: Found | None) -> str:
        made = self._ecs.register_task_definition(**wanted, tags=lower(self._aws.owner | mark(wanted)))
        return str(made["taskDefinition"]["taskDefinitionArn"])

    def remove(self, name: str, found: Found) -> None:
        for arn in self._revisions(self._aws.names.of(name), "ACTIVE"):
            self._ecs.deregister_task_definition(taskDefinition=arn)

    def _revisions(self, family: str, status: str) -> list[str]:
        """A family's revisions. ECS asks by the beginning of a name: others may begin with it, too."""
        pages = self._ecs.get_paginator("list_task_definitions").paginate(familyPrefix=family, status=status)
        arns = [arn for page in pages for arn in page["taskDefinitionArns"]]
        return [arn for arn in arns if arn.rsplit("/", 1)[-1].rpartition(":")[0] == family]


class Jobs:
    """Tasks that run once. That one has run is noted on the cluster. `wanted`: as RunTask has it."""

    def __init__(self, aws: Aws) -> None:
        self._aws, self._ecs = aws, aws.client("ecs")

    def find(self, name: str, wanted: JsonObject | None) -> Found | None:
        clusters = self._ecs.describe_clusters(clusters=[self._aws.names.cluster], include=["TAGS"])[
            "clusters"
        ]
        done = read_tags(clusters[0].get("tags", [])).get(TOPICS_TAG) if clusters else None
        return Found(name, done) if done else None

    def put(self, name: str, wanted: JsonObject, found: Found | None) -> str:
        task = self._aws.until(
            lambda: self._start(wanted), ROLE_SECONDS, f"job {name}: ECS does not know its role"
        )
        self._check(self._aws.until(lambda: self._ended(task), JOB_SECONDS, f"job {name}: has not ended"))
        cluster = self._ecs.describe_clusters(clusters=[self._aws.names.cluster])["clusters"][0]["clusterArn"]
        self._ecs.tag_resource(resourceArn=cluster, tags=lower({TOPICS_TAG: digest(wanted)}))
        return name

    def remove(self, name: str, found: Found) -> None:
        """Nothing is left of a job but the note, and that goes with the cluster."""

    def _start(self, wanted: JsonObject) -> str | None:
        try:
            answer = self._ecs.run_task(**wanted, tags=lower(self._aws.owner))
        except self._ecs.exceptions.ClientError as error:
            if "assume" in str(error) and "role" in str(error):
                return None
            raise
        if answer["failures"]:
            raise DeployError(f"job: ECS starts no task: {answer['failures'][0].get('reason')}")
        return str(answer["tasks"][0]["taskArn"])

    def _ended(self, task: str) -> dict[str, Any] | None:
        found: dict[str, Any] = self._ecs.describe_tasks(cluster=self._aws.names.cluster, tasks=[task])[
            "tasks"
        ][0]
        return found if found["lastStatus"] == "STOPPED" else None

    def _check(self, task: dict[str, Any]) -> None:
        codes = {one["name"]: (one.get("exitCode"), one.get("reason")) for one in task["containers"]}
        if all(code == 0 for code, _reason in codes.values()):
            return
        said = "; ".join(
            f"{name}: exit code {code}{f', {why}' if why else ''}" for name, (code, why) in codes.items()
        )
        raise DeployError(
            f"job {TOPICS}: {said}; {task.get('stoppedReason') or 'no reason given'}. What it said is in the log group "
            f"{self._aws.names.log_group}, streams odradek/{TOPICS}/{task['taskArn'].rsplit('/', 1)[-1]} and odradek/prepare/…"
        )


class Services:
    """ECS services. `wanted`: as CreateService has it; how many tasks there are is never changed."""

    def __init__(self, aws: Aws) -> None:
        self._aws, self._ecs = aws, aws.client("ecs")

    def find(self, name: str, wanted: JsonObject | None) -> Found | None:
        try:
            found = self._ecs.describe_services(
                cluster=self._aws.names.cluster, services=[name], include=["TAGS"]
            )
        except self._ecs.exceptions.ClusterNotFoundException:
            return None
        live = [one for one in found["services"] if one["status"] != "INACTIVE"]
        if not live:
            return None
        service = Found.tagged(live[0]["serviceArn"], read_tags(live[0].get("tags", [])))
        if wanted is not None and live[0]["taskDefinition"] != wanted["taskDefinition"]:
            return Found(service.id, None, service.owner)  # rolled back, or changed by hand
        return service

    def put(self, name: str, wanted: JsonObject, found: Found | None) -> str:
        if found is None:
            made = self._ecs.create_service(**wanted, tags=lower(self._aws.owner))
            found = Found(made["service"]["serviceArn"])
        else:
            change = {key: wanted[key] for key in _CHANGEABLE}
            self._ecs.update_service(service=name, forceNewDeployment=True, **change)
        self._ecs.tag_resource(resourceArn=found.id, tags=lower(mark(wanted)))
        return found.id

    def remove(self, name: str, found: Found) -> None:
        """Its tasks are told to stop, and drain; the service is gone when the last has ended."""
        self._ecs.delete_service(cluster=self._aws.names.cluster, service=name, force=True)
        self._aws.until(lambda: self._gone(name), GONE_SECONDS, f"service {name}: its tasks have not ended")

    def _gone(self, name: str) -> bool | None:
        services = self._ecs.describe_services(cluster=self._aws.names.cluster, services=[name])["services"]
        return True if all(one["status"] == "INACTIVE" for one in services) else None
