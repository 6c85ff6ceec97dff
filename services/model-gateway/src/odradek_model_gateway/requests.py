"""From a requested call to the body of a chat-completions request.

Source: the OpenAI API reference, "Chat Completions"; `return_token_ids` is vLLM's.
"""

from typing import Any

from pydantic_core import to_json

from odradek_model_gateway import json_tools
from odradek_model_gateway.failures import CallError
from odradek_model_gateway.settings import ModelSettings
from odradek_schemas.events import ModelCallRequested
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import Message, Sampling

_OF_TOOLS = frozenset({"tool_choice", "parallel_tool_calls"})


def write_body(event: ModelCallRequested, settings: ModelSettings) -> bytes:
    """The request's body as JSON.

    Raises:
        CallError: the model can't be asked this (invalid_request).
    """
    body: dict[str, Any] = {
        **settings.extra_body,
        **_sampling(event.sampling, with_tools=bool(event.tools)),
        "model": settings.model,
        "messages": event.messages,
    }
    if settings.tool_calls == "json_schema":
        _offer_as_json(event, body)
    elif event.tools:
        body["tools"] = event.tools
    if settings.token_ids:
        body |= {"logprobs": True, "return_token_ids": True}
    body["messages"] = [_sendable(message, settings.send_reasoning) for message in body["messages"]]
    return to_json(body, exclude_none=True)


def _sampling(sampling: Sampling, with_tools: bool) -> dict[str, Any]:
    """What was asked for. What is None is left to the server, and settings of tools are refused without tools."""
    asked = sampling.model_dump(exclude_none=True)
    return asked if with_tools else {name: asked[name] for name in asked if name not in _OF_TOOLS}


def _sendable(message: Message, send_reasoning: bool) -> Message:
    changes: dict[str, Any] = {}
    if message.reasoning_content is not None and not send_reasoning:
        changes["reasoning_content"] = None
    if message.content is None and not message.tool_calls:
        changes["content"] = ""
    return message.model_copy(update=changes) if changes else message


def _offer_as_json(event: ModelCallRequested, body: dict[str, Any]) -> None:
    for name in _OF_TOOLS:
        body.pop(name, None)
    offer = json_tools.Offer.of(event.tools, event.sampling.tool_choice)
    body["messages"] = json_tools.write_history(event.messages, offer)
    if not offer.functions:
        return
    if "response_format" in body:
        raise CallError(
            FailureKind.INVALID_REQUEST,
            f"model {event.model!r} is offered tools as a response_format (tool_calls is json_schema), so the call "
            "can't bring a response_format of its own: leave out one of the two",
        )
    body["response_format"] = offer.reply_format
