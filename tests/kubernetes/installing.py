"""Helm, kubeconform and the schemas that they check against: Go modules, in a cache, installed once.

Kubernetes' own schemas are in its module, as are those of KEDA and of the Prometheus operator: `kubeconform` reads
them from a folder, and asks no server.
"""

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.kubernetes import schemas
from tests.kubernetes.objects import Object
from tests.support import cache

HELM = "helm.sh/helm/v4/cmd/helm@v4.3.1"
KUBECONFORM = "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0"
KUBERNETES = "k8s.io/kubernetes@v1.36.3"
KEDA = "github.com/kedacore/keda/v2@v2.21.0"
PROMETHEUS = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
CRDS = (
    (KEDA, "config/crd/bases/keda.sh_scaledobjects.yaml"),
    (KEDA, "config/crd/bases/keda.sh_triggerauthentications.yaml"),
    (PROMETHEUS, "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml"),
)

BUILD_SECONDS = 1800


class GoMissingError(Exception):
    """There is no Go to install with; the message says what to do."""


@dataclass(frozen=True)
class Tools:
    """Where the programs are, and the folder of schemas."""

    helm: Path
    kubeconform: Path
    schemas: Path


def folder() -> Path:
    asked = [
        HELM,
        KUBECONFORM,
        KUBERNETES,
        *(word for crd in CRDS for word in crd),
        Path(schemas.__file__).read_text(),
    ]
    return cache.folder("kubernetes", "\n".join(asked))


def is_installed() -> bool:
    return cache.is_filled(folder())


def tools() -> Tools:
    return Tools(folder() / "bin/helm", folder() / "bin/kubeconform", folder() / "schemas")


def install() -> float:
    """Install all of it, unless it is there; returns the seconds that it took.

    Raises:
        GoMissingError, subprocess.CalledProcessError: as `go` tells.
    """
    began = time.monotonic()
    if is_installed():
        return 0.0
    with cache.filling(folder()):
        for module in (KUBECONFORM, HELM):
            go("install", module)
        _write_schemas(folder() / "schemas")
    return time.monotonic() - began


def _write_schemas(to: Path) -> None:
    to.mkdir()
    swagger = json.loads((_module(KUBERNETES) / "api/openapi-spec/swagger.json").read_text())
    definitions = swagger["definitions"]
    found = schemas.of_kubernetes(definitions)
    for module, path in CRDS:
        found |= schemas.of_definition(crd(module, path), definitions)
    for name, schema in found.items():
        (to / name).write_text(json.dumps(schema))


def crd(module: str, path: str) -> Object:
    """A CustomResourceDefinition that a module holds."""
    found = yaml.safe_load((_module(module) / path).read_text())
    assert isinstance(found, dict)
    return found


def _module(name: str) -> Path:
    return Path(json.loads(go("mod", "download", "-json", name))["Dir"])


def go(*arguments: str, within: Path | None = None, seconds: float = BUILD_SECONDS) -> str:
    """What the command says; what it installs goes to our folder.

    Raises:
        GoMissingError: there is no Go.
        subprocess.CalledProcessError: it failed; why, it has said on standard error.
    """
    if shutil.which("go") is None:
        raise GoMissingError(
            "Helm is built with Go, which is not on the PATH: install Go 1.26 or newer (go.dev/doc/install, or your "
            "distribution's package)"
        )
    env = os.environ | {"GOBIN": str(folder() / "bin"), "GOFLAGS": "-mod=mod"}
    done = subprocess.run(
        ["go", *arguments],
        env=env,
        cwd=within,
        timeout=seconds,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout
