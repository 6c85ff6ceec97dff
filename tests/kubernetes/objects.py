"""Looking at rendered objects."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from odradek.models import ModelSettings

Object = dict[str, Any]

HTTP = 9400
"""Where every process serves its health and metrics."""


@dataclass(frozen=True)
class Pod:
    """What a Deployment or Job makes."""

    component: str
    labels: dict[str, str]
    spec: Object

    @property
    def container(self) -> Object:
        (only,) = self.spec["containers"]
        assert isinstance(only, dict)
        return only


@dataclass(frozen=True)
class Rendered:
    """All objects of one render."""

    objects: list[Object]

    def of(self, kind: str) -> Iterator[Object]:
        return (one for one in self.objects if one["kind"] == kind)

    def named(self, kind: str, name: str) -> Object:
        return next(one for one in self.of(kind) if one["metadata"]["name"] == name)

    def pods(self) -> Iterator[Pod]:
        for one in (*self.of("Deployment"), *self.of("Job")):
            template = one["spec"]["template"]
            labels = template["metadata"]["labels"]
            yield Pod(labels["app.kubernetes.io/component"], labels, template["spec"])

    def port_of(self, service: str) -> int | None:
        """The port of a Service, if there is one of that name."""
        for one in self.of("Service"):
            if one["metadata"]["name"] == service:
                (port,) = one["spec"]["ports"]
                return int(port["port"])
        return None

    def environment(self, pod: Pod) -> dict[str, str]:
        """The pod's variables; of one from a secret the value is a word that says so."""
        found: dict[str, str] = {}
        for source in pod.container.get("envFrom", []):
            if "configMapRef" in source:
                found |= self.named("ConfigMap", source["configMapRef"]["name"])["data"]
        for variable in pod.container.get("env", []):
            found[variable["name"]] = self._value(variable)
        return found

    def _value(self, variable: Mapping[str, Any]) -> str:
        if "value" in variable:
            return str(variable["value"])
        source = variable["valueFrom"]
        if "configMapKeyRef" in source:
            at = source["configMapKeyRef"]
            return str(self.named("ConfigMap", at["name"])["data"][at["key"]])
        return "(secret)"


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a label selector without expressions fits."""
    assert set(selector) <= {"matchLabels"}, f"not looked at: {json.dumps(selector)}"
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


def models(environment: Mapping[str, str]) -> dict[str, ModelSettings]:
    """The models of `ODRADEK_MODELS`. Raises ValidationError."""
    named = json.loads(environment.get("ODRADEK_MODELS", "{}"))
    return {name: ModelSettings.model_validate(model) for name, model in named.items()}
