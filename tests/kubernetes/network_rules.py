"""What must be true of the network policies of a render: who may go where, and who may not."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from odradek_schemas.topics import WORKERS
from tests.kubernetes.objects import HTTP, Object, Pod, Rendered, models, selects

FRONT = 8400


def reachable(rendered: Rendered) -> Iterator[str]:
    """A pod may go where its settings point, and there alone; nobody else may come than who asks it."""
    for pod in rendered.pods():
        policies = [
            one for one in rendered.of("NetworkPolicy") if selects(one["spec"]["podSelector"], pod.labels)
        ]
        if not any(
            "egress" not in one["spec"] and "Egress" in one["spec"]["policyTypes"] for one in policies
        ):
            yield f"{pod.component}: what is not allowed is not denied"
        open_ports = {
            port for one in policies for rule in one["spec"].get("egress", []) for port in _ports(rule)
        }
        wanted = _wanted_ports(rendered, pod)
        yield from (f"{pod.component} can't reach port {port}" for port in sorted(wanted - open_ports))
        if pod.component in ("task-producer", "agent-worker", "verifier-worker", "topics"):
            yield from (f"{pod.component} may reach port {port}" for port in sorted(open_ports - wanted))
        if any(not rule.get("ports") for one in policies for rule in one["spec"].get("egress", [])):
            yield f"{pod.component} may reach any port"
        if any(not rule.get("from") for one in policies for rule in one["spec"].get("ingress", [])):
            yield f"anybody may come to {pod.component}"


def env_workers_reach_the_gateway(rendered: Rendered) -> Iterator[str]:
    """The URL that agent programs are given is a Service of the gateway's pods, open both ways."""
    for pod in rendered.pods():
        url = rendered.environment(pod).get("ODRADEK_GATEWAY_URL")
        if url is None:
            continue
        at = urlsplit(url)
        if rendered.port_of(str(at.hostname)) != at.port:
            yield f"nobody answers at {url}"
        gateway = next(other for other in rendered.pods() if other.component == "model-gateway")
        if not _may_go(rendered, pod, gateway, FRONT, "egress", "to") or not _may_go(
            rendered, gateway, pod, FRONT, "ingress", "from"
        ):
            yield f"{pod.component} may not ask the gateway"


def the_exporter_finds_workers(rendered: Rendered) -> Iterator[str]:
    """Every pool has a headless Service of the name that the exporter asks for, and lets it in."""
    for pod in rendered.pods():
        if pod.component != "load-exporter":
            continue
        pattern = rendered.environment(pod)["ODRADEK_LOAD_WORKERS_DNS"]
        for worker in rendered.pods():
            if worker.component not in WORKERS:
                continue
            name, _, port = pattern.replace("{pool}", worker.component).partition(":")
            service = next((one for one in rendered.of("Service") if one["metadata"]["name"] == name), None)
            if service is None or service["spec"].get("clusterIP") != "None" or port != str(HTTP):
                yield f"{name} does not name all pods of {worker.component}"
            if not _may_go(rendered, worker, pod, HTTP, "ingress", "from"):
                yield f"{worker.component} does not let the load exporter in"
            if not _may_go(rendered, pod, worker, HTTP, "egress", "to"):
                yield f"the load exporter may not ask {worker.component}"


def _ports(rule: Object) -> list[int]:
    return [int(port["port"]) for port in rule.get("ports", [])]


def _wanted_ports(rendered: Rendered, pod: Pod) -> set[int]:
    """The ports to which a pod's settings point."""
    env = rendered.environment(pod)
    wanted = {53} | {int(at.rpartition(":")[2]) for at in env["ODRADEK_BOOTSTRAP_SERVERS"].split(",")}
    if env.get("ODRADEK_KAFKA_SASL_MECHANISM") == "AWS_MSK_IAM":
        wanted |= {80, 443}
    if env["ODRADEK_BLOB_STORE"].startswith("s3://") and pod.component not in ("topics", "load-exporter"):
        wanted.add(_url_port(env.get("AWS_ENDPOINT_URL_S3", "https://s3")))
        wanted |= set() if "AWS_ACCESS_KEY_ID" in env else {80, 443}
    for url in (env.get("ODRADEK_GATEWAY_URL"), env.get("ODRADEK_REDIS_URL")):
        wanted |= {_url_port(url)} if url and "://" in url else set()
    return wanted | {_url_port(replica.url) for model in models(env).values() for replica in model.base_url}


def _url_port(url: str) -> int:
    at = urlsplit(url)
    return at.port or {"http": 80, "https": 443}.get(at.scheme, 6379)


def _may_go(rendered: Rendered, of: Pod, other: Pod, port: int, way: str, end: str) -> bool:
    """Whether a policy of `of` names the pods of `other` on a port."""
    return any(
        port in _ports(rule)
        and any(
            selects(peer.get("podSelector", {"matchLabels": {"": ""}}), other.labels) for peer in rule[end]
        )
        for one in rendered.of("NetworkPolicy")
        if selects(one["spec"]["podSelector"], of.labels)
        for rule in one["spec"].get(way, [])
        if rule.get(end)
    )
