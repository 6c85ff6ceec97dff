"""JSON Schemas of Kubernetes' objects, from its OpenAPI document and from CustomResourceDefinitions.

What they describe is bound to be all there is: a field that nobody declared is an error, which the API server would
drop with a warning.
"""

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

_INT_OR_STRING = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
_QUANTITY = {"anyOf": [{"type": "number"}, {"type": "string"}]}
_METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_SPECIAL = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _INT_OR_STRING,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _QUANTITY,
}


def file_name(kind: str, version: str, group: str = "") -> str:
    """As kubeconform's template `{{.ResourceKind}}{{.KindSuffix}}.json` asks for it."""
    parts = [kind, group.split(".")[0], version] if group else [kind, version]
    return "-".join(parts).lower() + ".json"


def of_kubernetes(swagger: Mapping[str, Any]) -> dict[str, Schema]:
    """A schema for each kind that Kubernetes itself has, by file name, and `definitions.json`, to which they point."""
    definitions = {name: _closed(schema) for name, schema in swagger["definitions"].items()}
    found: dict[str, Schema] = {"definitions.json": {"definitions": definitions | _SPECIAL}}
    for name, schema in swagger["definitions"].items():
        for kind in schema.get("x-kubernetes-group-version-kind", []):
            at = {"$ref": f"definitions.json#/definitions/{name}"}
            found[file_name(kind["kind"], kind["version"], kind["group"])] = at
    return found


def of_definition(definition: Mapping[str, Any]) -> dict[str, Schema]:
    """A schema for each version of a CustomResourceDefinition, by file name."""
    spec = definition["spec"]
    return {
        file_name(spec["names"]["kind"], version["name"], spec["group"]): _closed(
            version["schema"]["openAPIV3Schema"], root=True
        )
        for version in spec["versions"]
    }


def _closed(schema: Any, root: bool = False) -> Any:
    """The same, without room for what is not declared. `root`: of a whole custom object, which has metadata."""
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return _INT_OR_STRING
    closed = {key: _closed_value(key, value) for key, value in schema.items()}
    free = "additionalProperties" in schema or schema.get("x-kubernetes-preserve-unknown-fields")
    if "properties" in schema and not free:
        closed["additionalProperties"] = False
    if root:
        closed["properties"]["metadata"] = {"$ref": f"definitions.json#/definitions/{_METADATA}"}
    return closed


def _closed_value(keyword: str, value: Any) -> Any:
    if keyword in ("properties", "patternProperties"):
        return {name: _closed(schema) for name, schema in value.items()}
    if keyword in ("allOf", "anyOf", "oneOf"):
        return [_closed(schema) for schema in value]
    return _closed(value) if keyword in ("items", "additionalProperties", "not") else value
