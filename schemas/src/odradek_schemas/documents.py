"""The contracts as documents: a JSON Schema per event, and one AsyncAPI 3.0 document of all topics.

Schemas are as tolerant as our own readers: a field that a newer version added is no error. What every writer sends
(`type`, `id`, `time`) is required.
"""

from collections.abc import Iterable
from typing import Any

from odradek_schemas.codec import CLAIM_CHECK_BYTES
from odradek_schemas.events import Event, RewardAssigned
from odradek_schemas.examples import examples
from odradek_schemas.topics import Kept, Topic

Document = dict[str, Any]

_ALWAYS_SENT = ("type", "id", "time")
_KEPT_TEXT = {
    Kept.DAYS: "until every reader is done with it, and some days more for people (purged, never by age alone)",
    Kept.LONG: "for long: the record of what happened",
    Kept.COMPACTED: "the newest record of each key (compacted; a tombstone ends it)",
}
_ATTRIBUTES = {
    "ce_specversion": "CloudEvents version, always `1.0`.",
    "ce_type": "The event's type.",
    "ce_id": "The event's id, deterministic.",
    "ce_source": "The service that wrote it.",
    "ce_time": "When it was written, RFC 3339.",
    "content-type": "Always `application/json`.",
    "ce_runid": "The run, where there is one.",
    "ce_rolloutid": "The rollout, where there is one.",
    "ce_dataref": f"Values above {CLAIM_CHECK_BYTES // 1024} KiB: where the value lies in the blob store.",
    "traceparent": "W3C trace context.",
}
_REQUIRED_ATTRIBUTES = ["ce_specversion", "ce_type", "ce_id", "ce_source", "ce_time", "content-type"]


def json_schema(event: type[Event]) -> Document:
    """The JSON Schema (2020-12) of an event's value on the wire."""
    schema = _open(event.model_json_schema())
    schema["required"] = [*_ALWAYS_SENT, *(n for n in schema.get("required", []) if n not in _ALWAYS_SENT)]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def asyncapi(topics: Iterable[Topic]) -> Document:
    """The AsyncAPI document: a channel per topic, an operation per service that writes or reads it."""
    topics = list(topics)
    events = {event.__name__: event for topic in topics for event in topic.events}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Odradek",
            "version": "0.1.0",
            "description": "Agent rollouts as events on Apache Kafka. Values are JSON, attributes are CloudEvents "
            "1.0 in the headers (Kafka binding, binary mode).",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "channels": {topic.name: _channel(topic) for topic in topics},
        "operations": dict(operation for topic in topics for operation in _operations(topic)),
        "components": {
            "messages": {name: _message(event) for name, event in events.items()},
            "schemas": {"CloudEvent": _cloudevent()},
        },
    }


def _channel(topic: Topic) -> Document:
    partitions = {"partitions": 1} if topic.single else {}
    return {
        "address": f"{{prefix}}{topic.name}",
        "title": topic.name,
        "description": f"{topic.purpose} Keyed by {topic.key}. Kept {_KEPT_TEXT[topic.kept]}.",
        "parameters": {
            "prefix": {"description": "What the deployment puts before each topic.", "default": "odradek."}
        },
        "messages": {e.__name__: {"$ref": f"#/components/messages/{e.__name__}"} for e in topic.events},
        "bindings": {
            "kafka": {
                **partitions,
                "topicConfiguration": _configuration(topic),
                "bindingVersion": "0.5.0",
            }
        },
        "x-key": topic.key,
        "x-kept": str(topic.kept),
        "x-written-by": list(topic.written_by),
        "x-read-by": list(topic.read_by),
    }


def _configuration(topic: Topic) -> Document:
    if topic.kept is Kept.COMPACTED:
        return {"cleanup.policy": ["compact"]}
    return {"cleanup.policy": ["delete"], "retention.ms": -1, "retention.bytes": -1}


def _operations(topic: Topic) -> list[tuple[str, Document]]:
    sides = [("send", service) for service in topic.written_by] + [("receive", s) for s in topic.read_by]
    verbs = {"send": "writes", "receive": "reads"}
    return [
        (
            f"{service}.{action}.{topic.name}",
            {
                "action": action,
                "channel": {"$ref": f"#/channels/{topic.name}"},
                "summary": f"{service} {verbs[action]} {topic.name}",
                "tags": [{"name": service}],
            },
        )
        for action, service in sides
    ]


def _message(event: type[Event]) -> Document:
    smallest = next(examples(event))
    return {
        "name": event.__name__,
        "title": event.__name__,
        "summary": " ".join((event.__doc__ or event.__name__).split()),
        "contentType": "application/json",
        "headers": _headers(event),
        "payload": {"$ref": f"./json/{event.__name__}.json"},
        "bindings": {"kafka": {"key": {"type": "string"}, "bindingVersion": "0.5.0"}},
        "examples": [{"name": "smallest", "payload": smallest.model_dump(mode="json", exclude_none=True)}],
    }


def _cloudevent() -> Document:
    properties = {name: {"type": "string", "description": text} for name, text in _ATTRIBUTES.items()}
    return {"type": "object", "required": _REQUIRED_ATTRIBUTES, "properties": properties}


def _headers(event: type[Event]) -> Document:
    common = {"$ref": "#/components/schemas/CloudEvent"}
    if not issubclass(event, RewardAssigned):
        return common
    text = "`primary`, or the name of a re-score: readers skip by it."
    scoring = {"ce_scoring": {"type": "string", "description": text}}
    return {"allOf": [common, {"type": "object", "required": [*scoring], "properties": scoring}]}


def _open(node: Any) -> Any:
    """The schema without what closes it to newer fields, and without OpenAPI's `discriminator`."""
    if isinstance(node, list):
        return [_open(item) for item in node]
    if not isinstance(node, dict):
        return node
    closed = node.get("additionalProperties") is False
    dropped = {"additionalProperties"} if closed else set()
    if isinstance(node.get("discriminator"), dict) and "mapping" in node["discriminator"]:
        dropped.add("discriminator")
    return {key: _open(value) for key, value in node.items() if key not in dropped}
