"""What everything of a deployment is called in AWS."""

from dataclasses import dataclass

from odradek_schemas.topics import WORKERS

EXPORTER = "load-exporter"
TOPICS = "topics"
SERVICES: tuple[str, ...] = (EXPORTER, *WORKERS)
"""What runs all the time, in the order in which it is started."""

OWNER_TAG = "odradek:deployment"
DIGEST_TAG = "odradek:digest"


@dataclass(frozen=True)
class Place:
    """Where in AWS: `partition` is `aws` for most."""

    partition: str
    account: str
    region: str
    vpc: str


@dataclass(frozen=True)
class Names:
    """The names in one deployment."""

    deployment: str

    @property
    def cluster(self) -> str:
        return f"odradek-{self.deployment}"

    @property
    def log_group(self) -> str:
        return f"/odradek/{self.deployment}"

    @property
    def namespace(self) -> str:
        """The private DNS zone: a service's tasks are found at `<service>.<namespace>`."""
        return f"{self.deployment}.odradek.internal"

    @property
    def role_path(self) -> str:
        return f"/odradek/{self.deployment}/"

    def of(self, service: str) -> str:
        """A service's task definitions, role and security group."""
        return f"odradek-{self.deployment}-{service}"

    def execution_role(self, service: str) -> str:
        """The role with which ECS itself starts a task."""
        return f"{self.of(service)}-start"

    def resource_id(self, service: str) -> str:
        """What Application Auto Scaling calls the service."""
        return f"service/{self.cluster}/{service}"

    def wake_alarm(self, service: str) -> str:
        return f"{self.of(service)}-wake"

    def host(self, service: str) -> str:
        return f"{service}.{self.namespace}"
