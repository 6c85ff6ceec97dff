"""A real Kubernetes API server with its store, and nothing behind it: it accepts or refuses objects, and starts none.

Built from `server/go.mod` (40 minutes of a slow machine the first time); only `make test-kubernetes SERVER=yes` does.
"""

import json
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from odradek_local.ports import free_port
from tests.kubernetes.chart import VERSION
from tests.kubernetes.installing import CRDS, crd, go
from tests.kubernetes.objects import Object
from tests.support import cache

MODULE = Path(__file__).with_name("server")
NAMESPACE = "odradek"
TOKEN = "a-token-of-this-test"
BUILD_SECONDS = 7200
START_SECONDS = 240
ANSWER_SECONDS = 60
STOP_SECONDS = 30


class ServerError(Exception):
    """It does not start, or answers otherwise than it should; the message is its own."""


@dataclass(frozen=True)
class ApiServer:
    """One that runs. `config` is a kubeconfig of somebody who may do all."""

    url: str
    config: Path

    def post(self, path: str, one: Object, dry: bool = False) -> None:
        """Create an object; nothing that it does not know is let pass. Raises ServerError: it was refused."""
        query = "?fieldValidation=Strict" + ("&dryRun=All" if dry else "")
        self._ask(path + query, json.dumps(one).encode())

    def patch(self, path: str, change: Object) -> None:
        """Change some of an object's fields (RFC 7386). Raises ServerError."""
        self._ask(path, json.dumps(change).encode(), "PATCH", "application/merge-patch+json")

    def get(self, path: str) -> Object:
        """An object as it is. Raises ServerError."""
        found = json.loads(self._ask(path))
        assert isinstance(found, dict)
        return found

    def is_ready(self) -> bool:
        try:
            self._ask("/readyz")
        except (ServerError, OSError):
            return False
        return True

    def _ask(
        self, path: str, body: bytes | None = None, method: str | None = None, kind: str = "application/json"
    ) -> bytes:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind}
        request = urllib.request.Request(self.url + path, body, headers, method=method)
        unverified = ssl._create_unverified_context()  # it signed its own certificate, on this machine
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_SECONDS, context=unverified) as answer:
                content: bytes = answer.read()
        except urllib.error.HTTPError as error:
            raise ServerError(error.read().decode()) from error
        return content


def folder() -> Path:
    return cache.folder("kubernetes-server", (MODULE / "go.mod").read_text())


def is_built() -> bool:
    return cache.is_filled(folder())


def build() -> None:
    """Build both, unless they are there. Raises GoMissingError, subprocess.CalledProcessError."""
    if is_built():
        return
    name = "k8s.io/component-base/version"
    major, minor, _ = VERSION.split(".")
    told = f"-X {name}.gitVersion=v{VERSION} -X {name}.gitMajor={major} -X {name}.gitMinor={minor}"
    with cache.filling(folder()):
        go("build", "-ldflags", told, "-o", f"{folder()}/", "tool", within=MODULE, seconds=BUILD_SECONDS)


@contextmanager
def running(at: Path) -> Iterator[ApiServer]:
    """Start both with all they write beneath `at`, with the definitions of others' kinds and a namespace in which the
    restricted Pod Security Standard is enforced. Raises ServerError: it does not become ready."""
    store, peer, port = (free_port() for _ in range(3))
    with _process(at / "store.log", [folder() / "server", *_store(at, store, peer)]):
        command: list[str | Path] = [folder() / "kube-apiserver", *_api_server(at, store, port)]
        with _process(at / "api-server.log", command) as process:
            server = ApiServer(f"https://127.0.0.1:{port}", _config(at, port))
            _wait(server, process, at / "api-server.log")
            _fill(server)
            yield server


def _store(at: Path, port: int, peer: int) -> list[str]:
    here, there = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
    return [
        f"--data-dir={at / 'store'}",
        *(f"--{name}={here}" for name in ("listen-client-urls", "advertise-client-urls")),
        *(f"--{name}={there}" for name in ("listen-peer-urls", "initial-advertise-peer-urls")),
        f"--initial-cluster=default={there}",
    ]


def _api_server(at: Path, store: int, port: int) -> list[str]:
    key = at / "accounts.key"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True, timeout=60)
    (at / "tokens.csv").write_text(f"{TOKEN},admin,admin,system:masters\n")
    return [
        f"--etcd-servers=http://127.0.0.1:{store}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={at / 'certificates'}",
        "--service-account-issuer=https://kubernetes",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        f"--token-auth-file={at / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--disable-admission-plugins=ServiceAccount",  # nobody makes the namespace's default account here
    ]


def _config(at: Path, port: int) -> Path:
    cluster = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": cluster}],
        "users": [{"name": "me", "user": {"token": TOKEN}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "current-context": "here",
    }
    path = at / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


def _wait(server: ApiServer, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not server.is_ready():
        if process.poll() is not None or time.monotonic() > deadline:
            raise ServerError(f"the API server is not ready: {log.read_text()[-2000:]}")
        time.sleep(0.5)


def _fill(server: ApiServer) -> None:
    for module, path in CRDS:
        server.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd(module, path))
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    server.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE, "labels": labels}})


@contextmanager
def _process(log: Path, command: list[str | Path]) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
