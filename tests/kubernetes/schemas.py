"""JSON Schemas of Kubernetes' objects, from its OpenAPI document and from CustomResourceDefinitions.

What they describe is bound to be all there is: a field that nobody declared is an error, which the API server would
drop with a warning.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Schema = dict[str, Any]
Definitions = Mapping[str, Schema]

_INT_OR_STRING = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
_QUANTITY = {"anyOf": [{"type": "number"}, {"type": "string"}]}
_POINTER = "#/definitions/"
_METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_SPECIAL = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _INT_OR_STRING,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _QUANTITY,
}


def file_name(kind: str, version: str, group: str = "") -> str:
    """As kubeconform's template `{{.ResourceKind}}{{.KindSuffix}}.json` asks for it."""
    parts = [kind, group.split(".")[0], version] if group else [kind, version]
    return "-".join(parts).lower() + ".json"


def of_kubernetes(definitions: Definitions) -> dict[str, Schema]:
    """A schema for each kind that Kubernetes itself has, by file name."""
    return {
        file_name(kind["kind"], kind["version"], kind["group"]): _whole(
            {"allOf": [{"$ref": f"{_POINTER}{name}"}]}, definitions
        )
        for name, schema in definitions.items()
        for kind in schema.get("x-kubernetes-group-version-kind", [])
    }


def of_definition(definition: Mapping[str, Any], definitions: Definitions) -> dict[str, Schema]:
    """A schema for each version of a CustomResourceDefinition, by file name; `definitions` are Kubernetes' own."""
    spec = definition["spec"]
    return {
        file_name(spec["names"]["kind"], version["name"], spec["group"]): _whole(
            _with_metadata(_closed(version["schema"]["openAPIV3Schema"])), definitions
        )
        for version in spec["versions"]
    }


def _with_metadata(custom: Schema) -> Schema:
    """Of a custom object's metadata its definition says nothing: they are like any object's."""
    return custom | {"properties": custom["properties"] | {"metadata": {"$ref": f"{_POINTER}{_METADATA}"}}}


def _whole(schema: Schema, definitions: Definitions) -> Schema:
    """The same, with all that it refers to."""
    found: dict[str, Schema] = {}
    left = list(_referred(schema))
    while left:
        name = left.pop()
        if name not in found:
            found[name] = _SPECIAL.get(name) or _closed(definitions[name])
            left += _referred(found[name])
    return schema | {"definitions": found}


def _referred(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for one in schema:
            yield from _referred(one)
    elif isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].removeprefix(_POINTER)
        for one in schema.values():
            yield from _referred(one)


def _closed(schema: Any) -> Any:
    """The same, without room for what is not declared, and without words for people."""
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return _INT_OR_STRING
    closed = {key: _closed_value(key, value) for key, value in schema.items() if key != "description"}
    free = "additionalProperties" in schema or schema.get("x-kubernetes-preserve-unknown-fields")
    if "properties" in schema and not free:
        closed["additionalProperties"] = False
    return closed


def _closed_value(keyword: str, value: Any) -> Any:
    if keyword in ("properties", "patternProperties"):
        return {name: _closed(schema) for name, schema in value.items()}
    if keyword in ("allOf", "anyOf", "oneOf"):
        return [_closed(schema) for schema in value]
    return _closed(value) if keyword in ("items", "additionalProperties", "not") else value
