"""From the body of a chat-completions response to what the model said."""

from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError

from odradek_model_gateway.failures import CallError
from odradek_model_gateway.json_tools import tool_call_id
from odradek_schemas.codec import explain
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import Message, TokenRecord, Usage

_Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, and what it cost."""

    message: Message
    finish_reason: str
    usage: Usage
    tokens: TokenRecord | None


def read_reply(body: bytes, call_id: str) -> Reply:
    """Read a 200's body. Unknown fields are ignored; null is the same as left out.

    Raises:
        CallError: not JSON, cut short, without a choice, or not of this shape (upstream_unavailable).
    """
    try:
        response = _dict(orjson.loads(body), "the response")
        choice = _first_choice(response)
        return Reply(
            message=_message(_dict(choice.get("message"), "choices.0.message"), call_id),
            finish_reason=str(choice.get("finish_reason") or "stop"),
            usage=_usage(_dict(response.get("usage") or {}, "usage")),
            tokens=_tokens(response, choice),
        )
    except orjson.JSONDecodeError as error:
        raise _unusable(f"{error} (after {len(body)} bytes)") from error
    except ValidationError as error:
        raise _unusable(explain(error)) from error


def _unusable(reason: str) -> CallError:
    return CallError(FailureKind.UPSTREAM_UNAVAILABLE, f"the response is not a chat completion: {reason}")


def _dict(value: Any, where: str) -> _Json:
    if not isinstance(value, dict):
        raise _unusable(f"{where} is not an object")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise _unusable(f"{where} is not a list")
    return value


def _first_choice(response: _Json) -> _Json:
    choices = _list(response.get("choices") or [], "choices")
    if not choices:
        told = f"; it says {orjson.dumps(response['error']).decode()[:400]}" if response.get("error") else ""
        raise _unusable(f"it holds no choice{told}")
    return _dict(choices[0], "choices.0")


def _message(message: _Json, call_id: str) -> Message:
    said: _Json = {
        "role": "assistant",
        "content": message.get("content"),
        "reasoning_content": message.get("reasoning_content") or message.get("reasoning"),
        "refusal": message.get("refusal"),
    }
    if calls := message.get("tool_calls"):
        said["tool_calls"] = _tool_calls(_list(calls, "tool_calls"), call_id)
    return Message.model_validate(said)


def _tool_calls(calls: list[Any], call_id: str) -> list[_Json]:
    """The calls, each with an id that no other of this reply has, though some servers give none."""
    written: dict[str, _Json] = {}
    for index, call in enumerate(calls):
        function = _dict(_dict(call, "tool_calls").get("function"), "tool_calls.function")
        key = call.get("id")
        if not key or key in written:
            key = tool_call_id(call_id, index)
        written[key] = {
            "id": key,
            "function": {"name": function.get("name"), "arguments": _arguments(function.get("arguments"))},
        }
    return list(written.values())


def _arguments(arguments: Any) -> Any:
    """JSON text, as the model wrote it; some servers have parsed it, or leave out what is empty."""
    return orjson.dumps(arguments).decode() if isinstance(arguments, dict) else arguments or "{}"


def _usage(usage: _Json) -> Usage:
    prompt = _dict(usage.get("prompt_tokens_details") or {}, "usage.prompt_tokens_details")
    completion = _dict(usage.get("completion_tokens_details") or {}, "usage.completion_tokens_details")
    return Usage.model_validate(
        {
            "prompt_tokens": usage.get("prompt_tokens") or 0,
            "completion_tokens": usage.get("completion_tokens") or 0,
            "cached_tokens": prompt.get("cached_tokens") or 0,
            "reasoning_tokens": completion.get("reasoning_tokens") or 0,
        }
    )


def _tokens(response: _Json, choice: _Json) -> TokenRecord | None:
    """Token ids as vLLM returns them (beside the choice), or as llama.cpp does (within the logprobs)."""
    ids = choice.get("token_ids")
    logprobs = _dict(choice.get("logprobs") or {}, "logprobs").get("content")
    if ids is None and logprobs is None:
        return None
    chosen = [_dict(token, "logprobs.content") for token in _list(logprobs or [], "logprobs.content")]
    if ids is None and all("id" in token for token in chosen):
        ids = [token["id"] for token in chosen]
    return TokenRecord.model_validate(
        {
            "prompt_token_ids": response.get("prompt_token_ids"),
            "completion_token_ids": ids,
            "logprobs": None if logprobs is None else [token.get("logprob") for token in chosen],
        }
    )
