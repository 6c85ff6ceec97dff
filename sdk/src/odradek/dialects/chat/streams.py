"""Streams of chat completions.

Source: the OpenAI API reference, "The chat completion chunk object". The last chunk with a choice tells why the model
stopped; the usage comes in one without a choice. Token ids and logprobs as vLLM streams them.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from odradek.dialects.chat.replies import USAGE
from odradek.dialects.core import DialectError, a_list, a_text, an_object, usage_as, usage_of
from odradek.dialects.deltas import CallDelta, Delta
from odradek_schemas.base import JsonObject


class StreamReader:
    """Chunks in, deltas out."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def read(self, chunk: JsonObject) -> Iterator[Delta]:
        """The deltas of one chunk. Raises DialectError."""
        if chunk.get("prompt_token_ids"):
            yield Delta(prompt_token_ids=_whole_numbers(chunk["prompt_token_ids"], "prompt_token_ids"))
        for value in a_list(chunk.get("choices"), "choices")[:1]:
            choice = an_object(value, "choices.0")
            yield from self._read_delta(an_object(choice.get("delta") or {}, "choices.0.delta"))
            yield from _read_tokens(choice)
            if choice.get("finish_reason"):
                yield Delta(finish_reason=str(choice["finish_reason"]))
        if chunk.get("usage"):
            yield Delta(usage=usage_of(chunk["usage"], *USAGE))

    def _read_delta(self, delta: JsonObject) -> Iterator[Delta]:
        yield from _read_words(delta)
        for value in a_list(delta.get("tool_calls"), "choices.0.delta.tool_calls"):
            yield Delta(call=self._read_call(an_object(value, "choices.0.delta.tool_calls")))

    def _read_call(self, call: JsonObject) -> CallDelta:
        function = an_object(call.get("function") or {}, "choices.0.delta.tool_calls.function")
        key = a_text(call.get("id")) or None
        return CallDelta(
            self._number(call.get("index"), key),
            key,
            a_text(function.get("name")) or None,
            a_text(function.get("arguments")),
        )

    def _number(self, index: JsonValue, key: str | None) -> int:
        """Which call a piece is of; some servers don't number them, and then a new id begins a new one."""
        if isinstance(index, int):
            return index
        if key is not None:
            return self._numbers.setdefault(key, len(self._numbers))
        return max(0, len(self._numbers) - 1)


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


def _read_words(delta: JsonObject) -> Iterator[Delta]:
    if reasoning := a_text(delta.get("reasoning_content")) or a_text(delta.get("reasoning")):
        yield Delta(reasoning=reasoning)
    for detail in a_list(delta.get("reasoning_details"), "choices.0.delta.reasoning_details"):
        yield Delta(detail=an_object(detail, "choices.0.delta.reasoning_details"))
    if text := a_text(delta.get("content")):
        yield Delta(text=text)
    if refusal := a_text(delta.get("refusal")):
        yield Delta(refusal=refusal)


def _read_tokens(choice: JsonObject) -> Iterator[Delta]:
    ids = choice.get("token_ids")
    logprobs = an_object(choice.get("logprobs") or {}, "choices.0.logprobs").get("content")
    if ids is None and logprobs is None:
        return
    at = "choices.0.logprobs.content"
    chosen = [an_object(token, at).get("logprob") for token in a_list(logprobs, at)]
    yield Delta(
        token_ids=None if ids is None else _whole_numbers(ids, "choices.0.token_ids"),
        logprobs=None if logprobs is None else _numbers(chosen, at),
    )


def _whole_numbers(value: JsonValue, at: str) -> list[int]:
    numbers = a_list(value, at)
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        raise DialectError(at, "must hold whole numbers")
    return numbers  # type: ignore[return-value]


def _numbers(numbers: list[JsonValue], at: str) -> list[float]:
    if not all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers):
        raise DialectError(at, "must hold a logprob for each token")
    return numbers  # type: ignore[return-value]


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
