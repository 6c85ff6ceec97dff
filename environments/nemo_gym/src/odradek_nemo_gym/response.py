"""What the model did, as a server is shown it: one Responses object, as NeMo Gym's own agent makes it."""

from odradek import JsonObject
from odradek.dialects.core import an_object
from odradek.dialects.nemo_gym import PARAMETERS
from odradek.dialects.responses.items import write_items
from odradek.dialects.responses.replies import response_of
from odradek_schemas.rollouts import Transcript

_REPEATED = ("tools", "tool_choice", "parallel_tool_calls")
"""What a response says again of its request."""
_WITH_ID = frozenset({"message", "reasoning"})


def response(transcript: Transcript, row: JsonObject) -> JsonObject:
    """All turns as items of one response, the tools' outputs among them. `row`: what was asked.

    It is `incomplete` where the last reply was cut short. Raises DialectError: a message can't be said in items.
    """
    items = write_items(transcript.messages)
    output = [_named(item, index) for index, item in enumerate(items)]
    made = response_of(
        "resp_odradek", transcript.model, 0, output, transcript.finish_reason or "stop", transcript.usage
    )
    asked = an_object(row.get(PARAMETERS), PARAMETERS)
    return made | {name: asked[name] for name in _REPEATED if asked.get(name) is not None}


def _named(item: JsonObject, index: int) -> JsonObject:
    """Messages and reasoning must have an id there."""
    if item.get("type") not in _WITH_ID or item.get("id"):
        return item
    return {"id": f"item_{index}", **item}
