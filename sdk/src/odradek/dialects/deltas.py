"""A reply in pieces, as it is streamed, and how the pieces make the whole.

A dialect's `StreamReader` turns what an upstream sends into deltas, and its `StreamWriter` turns deltas into what a
client reads; `ReplyBuilder` makes the reply of them. Between two dialects nothing waits for the reply's end.
"""

from dataclasses import dataclass, field, replace

from odradek.dialects.core import Reply, tool_call_id
from odradek_schemas.base import JsonObject
from odradek_schemas.messages import FunctionCall, Message, TokenRecord, ToolCall, Usage


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of tool call number `index`: its id and name at its beginning, then pieces of its arguments."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Delta:
    """One piece of a reply. `detail` is a whole entry of `reasoning_details`; `finish_reason` comes once, at the end."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    detail: JsonObject | None = None
    call: CallDelta | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    prompt_token_ids: list[int] | None = None
    token_ids: list[int] | None = None
    logprobs: list[float] | None = None


@dataclass(slots=True)
class _Call:
    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class ReplyBuilder:
    """Puts deltas together. Calls without an id of their own, or with another's, are named after `call_id`."""

    def __init__(self, call_id: str) -> None:
        self._call_id = call_id
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._details: list[JsonObject] = []
        self._calls: dict[int, _Call] = {}
        self._finish_reason: str | None = None
        self._usage = Usage()
        self._prompt: list[int] | None = None
        self._tokens: list[int] | None = None
        self._logprobs: list[float] | None = None

    @property
    def finished(self) -> bool:
        """Whether the end was told: a stream that stops before is cut short."""
        return self._finish_reason is not None

    def add(self, delta: Delta) -> Delta:
        """Take one piece; what comes back is the same piece as the reply holds it, its call by the name that it has there."""
        if delta.text:
            self._text.append(delta.text)
        if delta.reasoning:
            self._reasoning.append(delta.reasoning)
        if delta.refusal:
            self._refusal.append(delta.refusal)
        if delta.detail is not None:
            self._details.append(delta.detail)
        if delta.call is not None:
            delta = replace(delta, call=self._add_call(delta.call))
        self._finish_reason = delta.finish_reason or self._finish_reason
        self._usage = delta.usage or self._usage
        self._add_tokens(delta)
        return delta

    def reply(self) -> Reply:
        """The whole, as far as it came."""
        calls = [
            ToolCall(
                id=call.id, function=FunctionCall(name=call.name, arguments="".join(call.arguments) or "{}")
            )
            for _index, call in sorted(self._calls.items())
        ]
        text = "".join(self._text)
        message = Message(
            role="assistant",
            content=text if text or not (calls or self._refusal) else None,
            reasoning_content="".join(self._reasoning) or None,
            reasoning_details=self._details or None,
            refusal="".join(self._refusal) or None,
            tool_calls=calls or None,
        )
        return Reply(message, self._finish_reason or "stop", self._usage, self._token_record())

    def _add_call(self, delta: CallDelta) -> CallDelta:
        call = self._calls.get(delta.index)
        if call is None:
            taken = {other.id for other in self._calls.values()}
            fresh = (
                delta.id if delta.id and delta.id not in taken else tool_call_id(self._call_id, delta.index)
            )
            call = self._calls[delta.index] = _Call(fresh)
            delta = replace(delta, id=fresh, name=delta.name or "")
        call.name = call.name or delta.name or ""
        call.arguments.append(delta.arguments)
        return delta

    def _add_tokens(self, delta: Delta) -> None:
        self._prompt = delta.prompt_token_ids or self._prompt
        if delta.token_ids is not None:
            self._tokens = [*(self._tokens or ()), *delta.token_ids]
        if delta.logprobs is not None:
            self._logprobs = [*(self._logprobs or ()), *delta.logprobs]

    def _token_record(self) -> TokenRecord | None:
        if self._tokens is None and self._logprobs is None:
            return None
        return TokenRecord(
            prompt_token_ids=self._prompt, completion_token_ids=self._tokens, logprobs=self._logprobs
        )


def deltas_of(reply: Reply) -> list[Delta]:
    """A whole reply as the pieces that make it: for a client that wants a stream of what came at once."""
    message = reply.message
    pieces = [Delta(reasoning=message.reasoning_content)] if message.reasoning_content else []
    pieces += [Delta(detail=detail) for detail in message.reasoning_details or []]
    pieces += [Delta(text=message.text)] if message.text else []
    pieces += [Delta(refusal=message.refusal)] if message.refusal else []
    for index, call in enumerate(message.tool_calls or []):
        pieces.append(Delta(call=CallDelta(index, call.id, call.function.name, call.function.arguments)))
    return [*pieces, Delta(finish_reason=reply.finish_reason, usage=reply.usage)]
