"""What a deployment is made of, in the order in which it is made. `down` goes through it backwards.

Read this first: each line names one thing in AWS, and the function that says what AWS is asked for.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from odradek_ecs import roles, scaling, services
from odradek_ecs.blocks import Block, blocks
from odradek_ecs.config import Config
from odradek_ecs.names import SERVICES, TOPICS, Names, Place
from odradek_ecs.task import task_definition
from odradek_schemas.base import JsonObject
from odradek_schemas.topics import WORKERS

Known = Mapping[str, str]
"""Ids and ARNs of what has been made: `<kind>/<name>` to id."""

EVERYTHING = (*SERVICES, TOPICS)


@dataclass(frozen=True)
class Step:
    """One thing. `build` says what is wanted, from what is known by then; None: that there be none."""

    kind: str
    name: str
    build: Callable[[Known], JsonObject | None]

    @property
    def key(self) -> str:
        return f"{self.kind}/{self.name}"


def steps(config: Config, place: Place) -> Iterator[Step]:
    """Everything, in order."""
    names, every = Names(config.deployment), blocks(config)
    yield Step("log group", names.log_group, lambda known: {"retentionInDays": config.log_days})
    yield Step("cluster", names.cluster, lambda known: services.cluster())
    yield Step("namespace", names.namespace, lambda known: {"Vpc": place.vpc})
    for name in EVERYTHING:
        yield from _ground(every[name], config, place)
    for name in WORKERS:
        yield Step("ingress", names.of(name), lambda known, name=name: _ingress(name, config, known))  # type: ignore[misc]
    for name in EVERYTHING:
        yield Step("task definition", name, lambda known, block=every[name]: _task(block, config, known))  # type: ignore[misc]
    yield Step("job", TOPICS, lambda known: _job(config, known))
    for name in SERVICES:
        yield Step("discovery", name, lambda known: services.discovery())
        yield Step("service", name, lambda known, block=every[name]: services.service(block, config, known))  # type: ignore[misc]
    for name in WORKERS:
        yield from _growth(name, config)


def _ground(block: Block, config: Config, place: Place) -> Iterator[Step]:
    """What one service's tasks stand on."""
    names = Names(config.deployment)
    yield Step("role", names.of(block.name), lambda known: roles.task_role(block, config, place))
    yield Step(
        "role", names.execution_role(block.name), lambda known: roles.execution_role(block, config, place)
    )
    group: JsonObject = {"Description": f"Odradek {config.deployment}: {block.name}", "VpcId": place.vpc}
    yield Step("security group", names.of(block.name), lambda known: group)


def _ingress(name: str, config: Config, known: Known) -> JsonObject:
    names = Names(config.deployment)
    callers = services.callers(config)[name]
    return {
        "group": known[f"security group/{names.of(name)}"],
        "callers": [
            {"group": known[f"security group/{names.of(who)}"], "port": port, "who": who}
            for who, port in callers
        ],
    }


def _task(block: Block, config: Config, known: Known) -> JsonObject:
    names = Names(config.deployment)
    arns = known[f"role/{names.of(block.name)}"], known[f"role/{names.execution_role(block.name)}"]
    return task_definition(block, config, arns)


def _job(config: Config, known: Known) -> JsonObject:
    names = Names(config.deployment)
    return {
        "cluster": names.cluster,
        "taskDefinition": known[f"task definition/{TOPICS}"],
        "launchType": "FARGATE",
        "count": 1,
        "networkConfiguration": services.network(config, known[f"security group/{names.of(TOPICS)}"]),
        "startedBy": f"odradek-{config.deployment}",
    }


def _growth(name: str, config: Config) -> Iterator[Step]:
    """How one pool is scaled."""
    pool, deployment = config.pools[name], config.deployment
    yield Step("target", name, lambda known: scaling.target(pool))
    yield Step("policy", f"{name}/track", lambda known: scaling.track(name, pool, deployment))
    yield Step("policy", f"{name}/wake", lambda known: scaling.wake(pool))
    yield Step(
        "alarm",
        name,
        lambda known: scaling.wake_alarm(name, pool, deployment, known.get(f"policy/{name}/wake", "")),
    )
