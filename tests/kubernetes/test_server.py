"""The chart in a real API server: what it installs is accepted whole, and so are the pods that it would have."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubernetes.api_server import NAMESPACE, ApiServer, ServerError, is_built, running
from tests.kubernetes.chart import CHART, EXAMPLES, golden, parsed, values
from tests.kubernetes.installing import Tools
from tests.kubernetes.objects import Object, Pod

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(900)]

HELM_SECONDS = 180


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    if not is_built():
        pytest.skip("there is no API server: make test-kubernetes SERVER=yes")
    with running(tmp_path_factory.mktemp("server")) as server:
        yield server


def test_it_is_installed_upgraded_rolled_back_and_taken_away(server: ApiServer, installed: Tools) -> None:
    """Without hooks: nobody is there to run a job."""
    first, *later = EXAMPLES
    helm(server, installed, "install", "odradek", str(CHART), "--values", str(values(first)))
    for example in later:
        helm(server, installed, "upgrade", "odradek", str(CHART), "--values", str(values(example)))
    helm(server, installed, "rollback", "odradek", "1")
    helm(server, installed, "uninstall", "odradek")


def test_an_upgrade_leaves_what_others_decide(server: ApiServer, installed: Tools) -> None:
    """How many workers there are is the autoscaler's business; a pool that is held back, as task-producers are while
    partitions are added, is not rolled."""
    chart = ("odradek", str(CHART), "--values", str(values("small")))
    helm(server, installed, "install", *chart)
    where = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/odradek-task-producer"
    server.patch(where, {"spec": {"paused": True, "replicas": 2}})
    helm(server, installed, "upgrade", *chart, "--set", "kafka.partitions=16")
    spec = server.get(where)["spec"]
    helm(server, installed, "uninstall", "odradek")
    assert (spec["paused"], spec["replicas"]) == (True, 2)


@pytest.mark.parametrize("example", EXAMPLES)
def test_restricted_namespaces_let_its_pods_in(example: str, server: ApiServer) -> None:
    for pod in parsed(golden(example).read_text()).pods():
        server.post(f"/api/v1/namespaces/{NAMESPACE}/pods", as_object(pod), dry=True)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_hooks_are_accepted(example: str, server: ApiServer) -> None:
    for job in parsed(golden(example).read_text()).of("Job"):
        server.post(f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs", job, dry=True)


def test_a_pod_that_may_be_root_is_kept_out(server: ApiServer) -> None:
    pod = as_object(next(parsed(golden("small").read_text()).pods()))
    pod["spec"]["securityContext"]["runAsNonRoot"] = False
    with pytest.raises(ServerError, match="violates PodSecurity"):
        server.post(f"/api/v1/namespaces/{NAMESPACE}/pods", pod, dry=True)


def as_object(pod: Pod) -> Object:
    """The pod by itself; its runtime class is a cluster's own."""
    spec = {name: value for name, value in pod.spec.items() if name != "runtimeClassName"}
    metadata = {"name": f"one-{pod.component}", "namespace": NAMESPACE, "labels": pod.labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def helm(server: ApiServer, installed: Tools, *arguments: str) -> None:
    """What the server warns of is an error here."""
    env = os.environ | {"KUBECONFIG": str(server.config), "HOME": str(Path(server.config).parent)}
    command = [str(installed.helm), *arguments, "--namespace", NAMESPACE, "--no-hooks"]
    done = subprocess.run(command, env=env, timeout=HELM_SECONDS, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "would violate" not in done.stderr, done.stderr
    assert "unknown field" not in done.stderr, done.stderr
