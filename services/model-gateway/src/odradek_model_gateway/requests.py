"""From a requested call to the body of the request that its upstream understands."""

from typing import Any

from pydantic_core import to_json

from odradek.dialects import chat
from odradek.dialects.core import ChatRequest, DialectError
from odradek.models import ModelSettings
from odradek_model_gateway import json_tools
from odradek_model_gateway.failures import CallError
from odradek_model_gateway.pictures import shown_by_user
from odradek_schemas.base import trusted
from odradek_schemas.events import ModelCallRequested
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import Message

_WITH_REASONING = ("reasoning_content", "reasoning_details")
_OPENROUTERS = "reasoning."
"""How the types of reasoning begin that a chat API gives: OpenRouter's."""


def write_body(event: ModelCallRequested, settings: ModelSettings, streamed: bool = False) -> bytes:
    """The request's body as JSON; `streamed`: it asks for the reply piece by piece.

    Raises:
        CallError: the model can't be asked this (invalid_request).
    """
    fields = {"messages": event.messages, "tools": event.tools, "sampling": event.sampling}
    request = trusted(ChatRequest, fields)
    if settings.tool_calls == "json_schema":
        request = _offered_as_json(request, event.model)
    if not settings.send_reasoning:
        kept = [_without_reasoning(message) for message in request.messages]
        request = request.model_copy(update={"messages": kept})
    elif settings.asked_as.dialect is chat:
        kept = [_with_its_own_reasoning(message) for message in request.messages]
        request = request.model_copy(update={"messages": kept})
    if settings.tool_pictures == "user":
        request = request.model_copy(update={"messages": shown_by_user(request.messages)})
    try:
        body: dict[str, Any] = {
            **settings.extra_body,
            **settings.asked_as.dialect.write_request(request, settings.model),
        }
    except DialectError as error:
        raise CallError(
            FailureKind.INVALID_REQUEST, f"model {event.model!r} can't be asked this: {error}"
        ) from error
    wishes = _wishes(body, settings)
    streaming = settings.asked_as.streamed if streamed else {}
    return to_json({**body, **wishes, **streaming}, exclude_none=True)


def _wishes(body: dict[str, Any], settings: ModelSettings) -> dict[str, Any]:
    """What the settings change: `return_token_ids` is vLLM's; a limit of tokens may have another name."""
    changes: dict[str, Any] = {}
    if settings.token_ids:
        changes = {"logprobs": True, "return_token_ids": True}
    if settings.max_tokens_field != "max_tokens" and "max_tokens" in body:
        changes[settings.max_tokens_field] = body.pop("max_tokens")
    return changes


def _without_reasoning(message: Message) -> Message:
    if message.reasoning_content is None and message.reasoning_details is None:
        return message
    return message.model_copy(update=dict.fromkeys(_WITH_REASONING))


def _with_its_own_reasoning(message: Message) -> Message:
    """Without the sealed reasoning of another API: a conversation may have been had over Messages or Responses before."""
    if message.reasoning_details is None:
        return message
    own = [detail for detail in message.reasoning_details if str(detail.get("type")).startswith(_OPENROUTERS)]
    return message.model_copy(update={"reasoning_details": own or None})


def _offered_as_json(request: ChatRequest, model: str) -> ChatRequest:
    """The tools as a schema that binds the reply, and the history as text."""
    sampling = request.sampling
    offer = json_tools.Offer.of(request.tools, sampling.tool_choice)
    if offer.functions and sampling.response_format is not None:
        raise CallError(
            FailureKind.INVALID_REQUEST,
            f"model {model!r} is offered tools as a response_format (tool_calls is json_schema), so the call "
            "can't bring a response_format of its own: leave out one of the two",
        )
    bound: dict[str, Any] = {"tool_choice": None, "parallel_tool_calls": None}
    if offer.functions:
        bound["response_format"] = offer.reply_format
    return request.model_copy(
        update={
            "messages": json_tools.write_history(request.messages, offer),
            "tools": [],
            "sampling": sampling.model_copy(update=bound),
        }
    )
