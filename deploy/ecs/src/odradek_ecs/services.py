"""Services, and what they stand on: network and discovery. What ECS, EC2 and Cloud Map are asked for."""

from collections.abc import Mapping

from pydantic import JsonValue

from odradek_ecs.blocks import FRONT_PORT, HEALTH_PORT, Block
from odradek_ecs.config import Config, Pool
from odradek_ecs.names import EXPORTER, Names
from odradek_schemas.base import JsonObject
from odradek_schemas.topics import ENV, GATEWAY, WORKERS

DNS_SECONDS = 10
"""How long a resolver may keep an answer: a task that has gone is asked for no longer."""

CAPACITY_PROVIDERS = ("FARGATE", "FARGATE_SPOT")


def cluster() -> JsonObject:
    """The cluster: Fargate, on demand and Spot."""
    return {"capacityProviders": list(CAPACITY_PROVIDERS)}


def discovery() -> JsonObject:
    """A service's entry in Cloud Map: an address record for each task that is healthy."""
    return {
        "DnsConfig": {"RoutingPolicy": "MULTIVALUE", "DnsRecords": [{"Type": "A", "TTL": DNS_SECONDS}]},
        "HealthCheckCustomConfig": {"FailureThreshold": 1},
    }


def callers(config: Config) -> dict[str, list[tuple[str, int]]]:
    """Who may call whom: for each service, (caller, port). Nobody else reaches a task; Kafka is reached from within."""
    allowed = {name: [(EXPORTER, HEALTH_PORT)] for name in WORKERS}
    if config.agent_programs:
        allowed[GATEWAY].append((ENV, FRONT_PORT))
    return allowed


def network(config: Config, own_group: str) -> JsonObject:
    """Where a service's tasks run, and behind which security groups."""
    return {
        "awsvpcConfiguration": {
            "subnets": list(config.network.subnets),
            "securityGroups": [own_group, *config.network.security_groups],
            "assignPublicIp": "ENABLED" if config.network.assign_public_ip else "DISABLED",
        }
    }


def service(block: Block, config: Config, known: Mapping[str, str]) -> JsonObject:
    """What CreateService is asked for. The first task shows that it starts; how many there are is Application
    Auto Scaling's from then on."""
    pool = config.pools.get(block.name)
    return {
        "cluster": Names(config.deployment).cluster,
        "serviceName": block.name,
        "taskDefinition": known[f"task definition/{block.name}"],
        "desiredCount": 1,
        "capacityProviderStrategy": _capacity(pool),
        "platformVersion": "LATEST",
        "networkConfiguration": network(
            config, known[f"security group/{Names(config.deployment).of(block.name)}"]
        ),
        "serviceRegistries": [{"registryArn": known[f"discovery/{block.name}"]}],
        "deploymentConfiguration": {
            "deploymentCircuitBreaker": {"enable": True, "rollback": True},
            "minimumHealthyPercent": 100,
            "maximumPercent": 200,
        },
        "enableECSManagedTags": True,
        "propagateTags": "SERVICE",
    }


def _capacity(pool: Pool | None) -> list[JsonValue]:
    """The first task never on Spot, the others by weight."""
    providers: list[JsonValue] = [{"capacityProvider": "FARGATE", "base": 1, "weight": 1}]
    if pool and pool.spot_weight:
        providers.append({"capacityProvider": "FARGATE_SPOT", "weight": pool.spot_weight})
    return providers
