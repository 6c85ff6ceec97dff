"""What must be true of every pod of a render. Each rule says what breaks it, or nothing.

They look at what Kubernetes and the processes look at, so that the chart and the settings' classes can't part ways.
"""

from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from odradek_runtime.kafka_security import KafkaSecurity
from odradek_schemas.topics import WORKERS
from tests.kubernetes import settings
from tests.kubernetes.objects import HTTP, Pod, Rendered, models, selects

UID = 10001
KAFKA = "ODRADEK_KAFKA_"
SECRETS = "/run/secrets/odradek/"


def unprivileged(rendered: Rendered) -> Iterator[str]:
    """No root, no writing outside volumes, no capabilities, no token of the API server."""
    for pod in rendered.pods():
        security, own = pod.spec["securityContext"], pod.container["securityContext"]
        if (security["runAsNonRoot"], security["runAsUser"]) != (True, UID):
            yield f"{pod.component} may run as root"
        if security["seccompProfile"] != {"type": "RuntimeDefault"}:
            yield f"{pod.component} has no seccomp profile"
        if own["capabilities"] != {"drop": ["ALL"]} or own["allowPrivilegeEscalation"]:
            yield f"{pod.component} has capabilities"
        if not own["readOnlyRootFilesystem"]:
            yield f"{pod.component} may write its root"
        account = rendered.named("ServiceAccount", pod.spec["serviceAccountName"])
        if pod.spec["automountServiceAccountToken"] or account["automountServiceAccountToken"]:
            yield f"{pod.component} has a token of the API server"


def bounded(rendered: Rendered) -> Iterator[str]:
    """Requests, a limit of memory, and of every folder that it may fill."""
    for pod in rendered.pods():
        resources = pod.container["resources"]
        if not {"cpu", "memory"} <= resources["requests"].keys() or "memory" not in resources["limits"]:
            yield f"{pod.component} has no requests, or no limit of memory"
        for volume in pod.spec["volumes"]:
            if "emptyDir" in volume and "sizeLimit" not in volume["emptyDir"]:
                yield f"{pod.component} may fill {volume['name']}"


def settings_exist(rendered: Rendered) -> Iterator[str]:
    """Each variable with our prefix is a setting of the process; and none comes from the names of Services."""
    for pod in rendered.pods():
        ours = {name for name in rendered.environment(pod) if name.startswith("ODRADEK_")}
        for name in sorted(ours - settings.known(pod.component)):
            yield f"{pod.component} knows no {name}"
        if pod.spec["enableServiceLinks"]:
            yield f"{pod.component} is given variables for Services, which may look like settings"
        if pod.component in WORKERS and "ODRADEK_WORKER_ID" in ours:
            yield f"{pod.component} has one id for all its pods"


def settings_fit(rendered: Rendered) -> Iterator[str]:
    """Kafka's security and the models are what their classes accept."""
    for pod in rendered.pods():
        env = rendered.environment(pod)
        try:
            models(env)
            KafkaSecurity.model_validate(_kafka(env))
        except ValidationError as error:
            yield f"{pod.component}: {error}"


def _kafka(env: Mapping[str, str]) -> dict[str, str]:
    """Kafka's settings. This file stands for any that is read at once; certificates are left out: it is none."""
    given = {name.removeprefix(KAFKA).lower(): env[name] for name in env if name.startswith(KAFKA)}
    given |= {name: __file__ for name in ("password_file", "token_file") if name in given}
    return {
        name: value
        for name, value in given.items()
        if name not in ("ca_file", "certificate_file", "key_file")
    }


def secrets_by_reference(rendered: Rendered) -> Iterator[str]:
    """No Secret in the chart; what is secret comes from one that exists, and only to who needs it."""
    if any(rendered.of("Secret")):
        yield "the chart holds a Secret"
    for pod in rendered.pods():
        for variable in pod.container.get("env", []):
            if "value" in variable and variable["name"].endswith(("PASSWORD", "SECRET", "KEY", "TOKEN")):
                yield f"{pod.component} has the value of {variable['name']}"
        paths = set(_secret_paths(pod))
        if "sealing_private_key" in paths and pod.component not in ("verifier-worker", "env-worker"):
            yield f"{pod.component} can open answers"
        if "access_secret" in paths and pod.component not in ("env-worker", "model-gateway", "cli"):
            yield f"{pod.component} can make tokens"


def files_are_there(rendered: Rendered) -> Iterator[str]:
    """What a setting calls a file is mounted, and what is mounted is asked for."""
    for pod in rendered.pods():
        asked = {value for value in rendered.environment(pod).values() if value.startswith(SECRETS)}
        given = {SECRETS + path for path in _secret_paths(pod)}
        yield from (f"{pod.component} has no {path}" for path in sorted(asked - given))
        yield from (f"{pod.component} does not read {path}" for path in sorted(given - asked))
        mounts = {mount["name"] for mount in pod.container["volumeMounts"]}
        volumes = {volume["name"] for volume in pod.spec["volumes"]}
        if mounts != volumes:
            yield f"{pod.component} mounts {sorted(mounts)}, its volumes are {sorted(volumes)}"


def probed(rendered: Rendered) -> Iterator[str]:
    """Each worker is asked whether it lives and is ready, where it listens."""
    for pod in rendered.pods():
        if pod.component not in (*WORKERS, "load-exporter"):
            continue
        ports = {port["name"]: port["containerPort"] for port in pod.container["ports"]}
        if ports.get("http") != HTTP or rendered.environment(pod)["ODRADEK_HTTP_PORT"] != str(HTTP):
            yield f"{pod.component} listens elsewhere than where it is asked"
        for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
            asks = pod.container.get(probe, {}).get("httpGet")
            if asks != {"path": path, "port": "http"}:
                yield f"{pod.component}: {probe} asks {asks}"


def scraped(rendered: Rendered) -> Iterator[str]:
    """Prometheus finds every worker by its port, and names it by its pool, as rules and dashboard do."""
    for one in rendered.of("PodMonitor"):
        spec = one["spec"]
        found = {pod.component for pod in rendered.pods() if selects(spec["selector"], pod.labels)}
        yield from (f"nobody scrapes {pool}" for pool in WORKERS if pool not in found)
        if spec["jobLabel"] != "app.kubernetes.io/component":
            yield "the job of a pod's metrics is not its pool"
        if [endpoint["port"] for endpoint in spec["podMetricsEndpoints"]] != ["http"]:
            yield "metrics are asked for elsewhere than at their port"


def drained(rendered: Rendered) -> Iterator[str]:
    """Nothing is killed while it drains: three times the drain, and a minute, after what goes before SIGTERM."""
    for pod in rendered.pods():
        if pod.component in WORKERS:
            drain = float(rendered.environment(pod)["ODRADEK_DRAIN_TIMEOUT_SECONDS"])
            sleep = pod.container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
            if pod.spec["terminationGracePeriodSeconds"] < sleep + 3 * drain + 60:
                yield f"{pod.component} is killed while it drains"


def _secret_paths(pod: Pod) -> Iterator[str]:
    for volume in pod.spec["volumes"]:
        for source in volume.get("projected", {}).get("sources", []):
            if "serviceAccountToken" in source:
                yield source["serviceAccountToken"]["path"]
            yield from (item["path"] for item in source.get("secret", {}).get("items", []))
