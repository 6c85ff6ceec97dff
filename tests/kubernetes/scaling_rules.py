"""What must be true of the pools of a render: what belongs to each, and how it is scaled."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from odradek_schemas.topics import TOPICS, WORKERS, positions_topic
from tests.kubernetes.objects import Object, Rendered, selects

LOOKED_INTO = {"control", "model-access", "journal", "ledger", "sessions", "judging"}
"""Topics that workers read without a position of their group: no work waits there."""


def selected(rendered: Rendered) -> Iterator[str]:
    """Selectors of Services, budgets, deployments and spreads fit the pods of their own component, and no others."""
    pods = list(rendered.pods())
    for one in (*rendered.of("Service"), *rendered.of("PodDisruptionBudget"), *rendered.of("Deployment")):
        selector = one["spec"]["selector"]
        wanted = {"matchLabels": selector} if one["kind"] == "Service" else selector
        found = {pod.component for pod in pods if selects(wanted, pod.labels)}
        if found != {one["metadata"]["labels"]["app.kubernetes.io/component"]}:
            yield f"{one['kind']} {one['metadata']['name']} selects {sorted(found)}"
    for pod in pods:
        for spread in pod.spec.get("topologySpreadConstraints", []):
            if not selects(spread["labelSelector"], pod.labels):
                yield f"{pod.component} is spread over others' pods"


def every_pool_is_whole(rendered: Rendered) -> Iterator[str]:
    """A pool has its deployment, its address, its budget, its network policy and its autoscaler."""
    scaled = any(rendered.of("ScaledObject"))
    kinds = ["Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"] + ["ScaledObject"] * scaled
    for kind in kinds:
        names = {one["metadata"]["labels"].get("app.kubernetes.io/component") for one in rendered.of(kind)}
        yield from (f"{pool} has no {kind}" for pool in WORKERS if pool not in names)
    for one in rendered.of("Deployment"):
        component = one["metadata"]["labels"]["app.kubernetes.io/component"]
        if component in WORKERS and ("replicas" in one["spec"]) == scaled:
            yield f"{component}: either its autoscaler or the Deployment says how many there are"


def scaled_within_reason(rendered: Rendered) -> Iterator[str]:
    """Bounds fit the partitions; nothing goes to zero that keeps deadlines or answers over HTTP."""
    for one in rendered.of("ScaledObject"):
        spec, pool = one["spec"], one["metadata"]["labels"]["app.kubernetes.io/component"]
        pod = next(pod for pod in rendered.pods() if pod.component == pool)
        env = rendered.environment(pod)
        if not spec["minReplicaCount"] <= spec["maxReplicaCount"] <= int(env["ODRADEK_PARTITIONS"]):
            yield f"{pool} has {spec['minReplicaCount']} to {spec['maxReplicaCount']} workers"
        lives = pool in ("task-producer", "agent-worker") or "ODRADEK_FRONT_PORT" in env
        if lives and spec["minReplicaCount"] < 1:
            yield f"{pool} may be scaled away"
        if not any(
            target["metadata"]["name"] == spec["scaleTargetRef"]["name"]
            for target in rendered.of("Deployment")
        ):
            yield f"{pool}: its autoscaler scales nothing"
        if not spec["triggers"]:
            yield f"{pool} is scaled by nothing"
        yield from (
            f"{pool}: {problem}"
            for trigger in spec["triggers"]
            for problem in _asked(rendered, pool, trigger)
        )


def _asked(rendered: Rendered, pool: str, trigger: Object) -> Iterator[str]:
    """What is wrong with what a trigger asks."""
    asks = trigger["metadata"]
    if not all(isinstance(value, str) for value in asks.values()):
        yield "KEDA takes text alone"
    if trigger["type"] == "metrics-api":
        url = urlsplit(asks["url"])
        service, _namespace, suffix = str(url.hostname).split(".")
        if suffix != "svc" or rendered.port_of(service) != url.port or url.path != f"/pools/{pool}":
            yield f"nobody answers at {asks['url']}"
    elif trigger["type"] == "kafka" and asks["consumerGroup"] != f"{_prefix(rendered)}{pool}":
        yield f"nobody is in the group {asks['consumerGroup']}"


def asked_for_every_input(rendered: Rendered) -> Iterator[str]:
    """Where lag is asked for, it is that of each topic in which work for the pool waits, and of no other."""
    for one in rendered.of("ScaledObject"):
        pool = one["metadata"]["labels"]["app.kubernetes.io/component"]
        asked = {
            trigger["metadata"]["topic"] for trigger in one["spec"]["triggers"] if trigger["type"] == "kafka"
        }
        inputs = {topic.name for topic in TOPICS if pool in topic.read_by} - LOOKED_INTO
        inputs -= {positions_topic(pool)}
        if asked and asked != {f"{_prefix(rendered)}{name}" for name in inputs}:
            yield f"{pool} reads {sorted(inputs)}, asked for are {sorted(asked)}"


def _prefix(rendered: Rendered) -> str:
    return str(rendered.named("ConfigMap", "odradek-settings")["data"]["ODRADEK_TOPIC_PREFIX"])
