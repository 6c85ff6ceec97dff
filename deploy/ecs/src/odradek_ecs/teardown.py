"""Removes all that deployments make, in the opposite order. Kafka, the bucket, secrets and images are not its to remove."""

from collections.abc import Iterator

from odradek_ecs.aws import Aws
from odradek_ecs.names import SERVICES
from odradek_ecs.settle import Action, Change, check_owner, kinds, telling
from odradek_ecs.stack import EVERYTHING, Step
from odradek_schemas.topics import WORKERS


def remove_all(aws: Aws) -> Iterator[Change]:
    """Remove everything that bears the deployment's names and its tag; yields what was removed.

    Raises:
        DeployError: AWS refuses, or does not let go in time; what is left is removed by another `down`.
    """
    every = kinds(aws)
    for kind, name in everything(aws):
        with telling(kind, name):
            found = every[kind].find(name, None)
            if found is None:
                continue
            check_owner(Step(kind, name, lambda known: None), found, aws)
            every[kind].remove(name, found)
        yield Change(Action.REMOVE, kind, name)


def everything(aws: Aws) -> Iterator[tuple[str, str]]:
    """Kind and name of all that there may be: what grows services first, what they stand on last."""
    names = aws.names
    for name in WORKERS:
        yield from (
            ("alarm", name),
            ("policy", f"{name}/wake"),
            ("policy", f"{name}/track"),
            ("target", name),
        )
    yield from (("service", name) for name in reversed(SERVICES))
    yield from (("discovery", name) for name in reversed(SERVICES))
    yield from (("task definition", name) for name in reversed(EVERYTHING))
    yield from (("ingress", names.of(name)) for name in WORKERS)
    yield from (("security group", names.of(name)) for name in reversed(EVERYTHING))
    yield ("namespace", names.namespace)
    yield ("cluster", names.cluster)
    for name in reversed(EVERYTHING):
        yield from (("role", names.of(name)), ("role", names.execution_role(name)))
    yield ("log group", names.log_group)
