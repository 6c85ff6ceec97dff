"""Streams of chat completions.

Source: the OpenAI API reference, "The chat completion chunk object". The last chunk with a choice tells why the model
stopped; the usage comes in one without a choice. Token ids and logprobs as vLLM streams them.
"""

from collections.abc import Iterator
from typing import Any

from odradek.dialects.chat.replies import USAGE
from odradek.dialects.core import a_list, a_text, an_object, usage_as, usage_of
from odradek.dialects.deltas import CallDelta, Delta
from odradek_schemas.base import JsonObject


class StreamReader:
    """Chunks in, deltas out."""

    def read(self, chunk: JsonObject) -> Iterator[Delta]:
        """The deltas of one chunk. Raises DialectError."""
        if chunk.get("prompt_token_ids"):
            yield Delta(prompt_token_ids=chunk["prompt_token_ids"])  # type: ignore[arg-type]
        for value in a_list(chunk.get("choices"), "choices")[:1]:
            choice = an_object(value, "choices.0")
            yield from _read_delta(an_object(choice.get("delta") or {}, "choices.0.delta"))
            yield from _read_tokens(choice)
            if choice.get("finish_reason"):
                yield Delta(finish_reason=str(choice["finish_reason"]))
        if chunk.get("usage"):
            yield Delta(usage=usage_of(chunk["usage"], *USAGE))


class StreamWriter:
    """Deltas in, chunks out. `created`: seconds since the epoch; `with_usage`: the client asked for it."""

    def __init__(self, reply_id: str, model: str, created: int, with_usage: bool = True) -> None:
        head = {"id": reply_id, "object": "chat.completion.chunk", "created": created, "model": model}
        self._head: JsonObject = head  # type: ignore[assignment]
        self._with_usage = with_usage
        self._begun = False

    def write(self, delta: Delta) -> Iterator[JsonObject]:
        """The chunks of one delta: what is said, why it ended, what it cost."""
        told = _write_delta(delta)
        if told or not self._begun:
            yield self._chunk(told if self._begun else {"role": "assistant", "content": "", **told})
            self._begun = True
        if delta.finish_reason is not None:
            yield self._chunk({}, delta.finish_reason)
        if delta.usage is not None and self._with_usage:
            yield {**self._head, "choices": [], "usage": usage_as(delta.usage, *USAGE)}

    def _chunk(self, delta: JsonObject, finish_reason: str | None = None) -> JsonObject:
        return {**self._head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def _read_delta(delta: JsonObject) -> Iterator[Delta]:
    if reasoning := a_text(delta.get("reasoning_content")) or a_text(delta.get("reasoning")):
        yield Delta(reasoning=reasoning)
    for detail in a_list(delta.get("reasoning_details"), "choices.0.delta.reasoning_details"):
        yield Delta(detail=an_object(detail, "choices.0.delta.reasoning_details"))
    if text := a_text(delta.get("content")):
        yield Delta(text=text)
    if refusal := a_text(delta.get("refusal")):
        yield Delta(refusal=refusal)
    for place, value in enumerate(a_list(delta.get("tool_calls"), "choices.0.delta.tool_calls")):
        yield Delta(call=_read_call(an_object(value, "choices.0.delta.tool_calls"), place))


def _read_call(call: JsonObject, place: int) -> CallDelta:
    function = an_object(call.get("function") or {}, "choices.0.delta.tool_calls.function")
    index = call.get("index")
    return CallDelta(
        index if isinstance(index, int) else place,
        a_text(call.get("id")) or None,
        a_text(function.get("name")) or None,
        a_text(function.get("arguments")),
    )


def _read_tokens(choice: JsonObject) -> Iterator[Delta]:
    ids: Any = choice.get("token_ids")
    logprobs = an_object(choice.get("logprobs") or {}, "choices.0.logprobs").get("content")
    chosen: Any = a_list(logprobs, "choices.0.logprobs.content")
    if ids is not None or logprobs is not None:
        yield Delta(
            token_ids=ids, logprobs=None if logprobs is None else [token.get("logprob") for token in chosen]
        )


def _write_delta(delta: Delta) -> JsonObject:
    told: JsonObject = {}
    if delta.reasoning:
        told["reasoning_content"] = delta.reasoning
    if delta.detail is not None:
        told["reasoning_details"] = [delta.detail]
    if delta.text:
        told["content"] = delta.text
    if delta.refusal:
        told["refusal"] = delta.refusal
    if delta.call is not None:
        told["tool_calls"] = [_write_call(delta.call)]
    return told


def _write_call(call: CallDelta) -> JsonObject:
    function: JsonObject = {"arguments": call.arguments}
    if call.id is None and call.name is None:
        return {"index": call.index, "function": function}
    return {
        "index": call.index,
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, **function},
    }
