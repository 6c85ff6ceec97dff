"""From the body of a chat-completions response to what the model said."""

from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from odradek_model_gateway.failures import CallError
from odradek_model_gateway.json_tools import tool_call_id
from odradek_schemas.codec import explain
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import FunctionCall, Message, TokenRecord, ToolCall, Usage


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, and what it cost."""

    message: Message
    finish_reason: str
    usage: Usage
    tokens: TokenRecord | None


def read_reply(body: bytes, call_id: str) -> Reply:
    """Read a 200's body. Unknown fields are ignored, nulls are what is left out.

    Raises:
        CallError: not JSON, cut short, without a choice, or not of this shape (upstream_unavailable).
    """
    try:
        response = _Response.model_validate_json(body)
    except ValidationError as error:
        raise _unusable(f"the response is not a chat completion: {explain(error)}") from error
    if not response.choices:
        told = f": {orjson.dumps(response.error).decode()[:400]}" if response.error else ""
        raise _unusable(f"the response holds no choice{told}")
    choice = response.choices[0]
    return Reply(
        message=choice.message.as_message(call_id),
        finish_reason=choice.finish_reason or "stop",
        usage=response.usage.as_usage() if response.usage else Usage(),
        tokens=_tokens(response, choice),
    )


def _unusable(message: str) -> CallError:
    return CallError(FailureKind.UPSTREAM_UNAVAILABLE, message)


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Function(_Part):
    name: str
    arguments: str | dict[str, Any] | None = None

    def as_call(self) -> FunctionCall:
        if isinstance(self.arguments, dict):
            return FunctionCall(name=self.name, arguments=orjson.dumps(self.arguments).decode())
        return FunctionCall(name=self.name, arguments=self.arguments or "{}")


class _ToolCall(_Part):
    id: str | None = None
    function: _Function


class _Message(_Part):
    content: str | None = None
    tool_calls: list[_ToolCall] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None

    def as_message(self, call_id: str) -> Message:
        return Message(
            role="assistant",
            content=self.content,
            tool_calls=self._calls(call_id) if self.tool_calls else None,
            reasoning_content=self.reasoning_content or self.reasoning or None,
            refusal=self.refusal,
        )

    def _calls(self, call_id: str) -> list[ToolCall]:
        """The calls, each with an id that no other of this reply has, though some servers give none."""
        calls: dict[str, ToolCall] = {}
        for index, call in enumerate(self.tool_calls or ()):
            taken = not call.id or call.id in calls
            key = tool_call_id(call_id, index) if taken else str(call.id)
            calls[key] = ToolCall(id=key, function=call.function.as_call())
        return list(calls.values())


class _Token(_Part):
    id: int | None = None
    logprob: float


class _Logprobs(_Part):
    content: list[_Token] | None = None


class _Choice(_Part):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None
    token_ids: list[int] | None = None


class _PromptDetails(_Part):
    cached_tokens: int | None = None


class _CompletionDetails(_Part):
    reasoning_tokens: int | None = None


class _Usage(_Part):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None

    def as_usage(self) -> Usage:
        prompt, completion = self.prompt_tokens_details, self.completion_tokens_details
        return Usage(
            prompt_tokens=self.prompt_tokens or 0,
            completion_tokens=self.completion_tokens or 0,
            cached_tokens=(prompt and prompt.cached_tokens) or 0,
            reasoning_tokens=(completion and completion.reasoning_tokens) or 0,
        )


class _Response(_Part):
    choices: list[_Choice] = Field(default_factory=list)
    usage: _Usage | None = None
    prompt_token_ids: list[int] | None = None
    error: Any = None


def _tokens(response: _Response, choice: _Choice) -> TokenRecord | None:
    """Token ids as vLLM returns them (beside the choice), or as llama.cpp does (within the logprobs)."""
    chosen = choice.logprobs.content if choice.logprobs else None
    ids = choice.token_ids
    if ids is None and chosen and all(token.id is not None for token in chosen):
        ids = [token.id for token in chosen if token.id is not None]
    if ids is None and chosen is None:
        return None
    return TokenRecord(
        prompt_token_ids=response.prompt_token_ids,
        completion_token_ids=ids,
        logprobs=None if chosen is None else [token.logprob for token in chosen],
    )
