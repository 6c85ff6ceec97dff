"""Streams of Anthropic Messages.

Source: the Anthropic API reference, "Streaming Messages": a message starts, its content blocks start, grow and stop one
after another, then comes why it stopped and what it cost.
"""

from collections.abc import Iterator

from odradek.dialects.core import DialectError, a_text, an_object
from odradek.dialects.deltas import CallDelta, Delta
from odradek.dialects.messages.replies import FINISH_REASONS, read_usage, stop_reason_of, write_usage
from odradek_schemas.base import JsonObject
from odradek_schemas.messages import Usage


class StreamReader:
    """Events in, deltas out."""

    def __init__(self) -> None:
        self._usage: JsonObject = {}
        self._block: JsonObject = {}
        self._calls = -1

    def read(self, event: JsonObject) -> Iterator[Delta]:
        """The deltas of one event. Raises DialectError."""
        match event.get("type"):
            case "message_start":
                self._usage = an_object(
                    an_object(event.get("message"), "message").get("usage") or {}, "usage"
                )
            case "content_block_start":
                yield from self._start(an_object(event.get("content_block"), "content_block"))
            case "content_block_delta":
                yield from self._grow(an_object(event.get("delta"), "delta"))
            case "content_block_stop":
                yield from self._stop()
            case "message_delta":
                yield from self._end(event)

    def _start(self, block: JsonObject) -> Iterator[Delta]:
        self._block = dict(block)
        if block.get("type") == "tool_use":
            self._calls += 1
            yield Delta(call=CallDelta(self._calls, a_text(block.get("id")), a_text(block.get("name"))))
        elif block.get("type") == "text" and block.get("text"):
            yield Delta(text=a_text(block["text"]))

    def _grow(self, delta: JsonObject) -> Iterator[Delta]:
        match delta.get("type"):
            case "text_delta":
                yield Delta(text=a_text(delta.get("text")))
            case "input_json_delta":
                yield Delta(call=CallDelta(self._calls, arguments=a_text(delta.get("partial_json"))))
            case "thinking_delta":
                thought = a_text(delta.get("thinking"))
                self._block["thinking"] = a_text(self._block.get("thinking")) + thought
                yield Delta(reasoning=thought)
            case "signature_delta":
                self._block["signature"] = a_text(self._block.get("signature")) + a_text(
                    delta.get("signature")
                )

    def _stop(self) -> Iterator[Delta]:
        block, self._block = self._block, {}
        if block.get("type") in ("thinking", "redacted_thinking"):
            yield Delta(detail=block)

    def _end(self, event: JsonObject) -> Iterator[Delta]:
        self._usage = {**self._usage, **an_object(event.get("usage") or {}, "usage")}
        reason = an_object(event.get("delta") or {}, "delta").get("stop_reason")
        if reason:
            told = FINISH_REASONS.get(str(reason), str(reason))
            yield Delta(finish_reason=told, usage=read_usage(self._usage))


class StreamWriter:
    """Deltas in, events out. `created` is not said in this dialect. The event's name is its `type`."""

    def __init__(self, reply_id: str, model: str, created: int) -> None:
        self._message: JsonObject = {
            "id": reply_id,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": write_usage(Usage()),
        }
        self._begun = False
        self._called = False
        self._index = -1
        self._open: str | None = None

    def write(self, delta: Delta) -> Iterator[JsonObject]:
        """The events of one delta; a block that is open is closed when another begins."""
        if not self._begun:
            self._begun = True
            yield {"type": "message_start", "message": self._message}
        if delta.reasoning:
            yield from self._into("thinking", {"type": "thinking", "thinking": "", "signature": ""})
            yield self._delta({"type": "thinking_delta", "thinking": delta.reasoning})
        if delta.detail is not None:
            yield from self._detail(delta.detail)
        if text := delta.text or delta.refusal:
            yield from self._into("text", {"type": "text", "text": ""})
            yield self._delta({"type": "text_delta", "text": text})
        if delta.call is not None:
            yield from self._call(delta.call)
        if delta.finish_reason is not None:
            yield from self._end(delta.finish_reason, delta.usage or Usage())

    def _detail(self, detail: JsonObject) -> Iterator[JsonObject]:
        """The signature of the thinking that was just streamed, or a block that is sealed as a whole."""
        if detail.get("type") == "redacted_thinking":
            yield from self._into(None, detail)
        elif detail.get("type") == "thinking" and self._open == "thinking":
            yield self._delta({"type": "signature_delta", "signature": detail.get("signature") or ""})
            yield from self._close()

    def _call(self, call: CallDelta) -> Iterator[JsonObject]:
        if call.name is None and self._open != f"call {call.index}":
            raise DialectError(
                "tool_calls", "pieces of several calls come mixed; here one call comes after another"
            )
        self._called = True
        start: JsonObject = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield from self._into(f"call {call.index}", start)
        if call.arguments:
            yield self._delta({"type": "input_json_delta", "partial_json": call.arguments})

    def _into(self, kind: str | None, block: JsonObject) -> Iterator[JsonObject]:
        """Go on in a block of this kind: the one that is open, or a new one. None: a block that nothing follows in."""
        if kind is not None and self._open == kind:
            return
        yield from self._close()
        self._index += 1
        self._open = kind or "sealed"
        yield {"type": "content_block_start", "index": self._index, "content_block": block}

    def _close(self) -> Iterator[JsonObject]:
        if self._open is not None:
            self._open = None
            yield {"type": "content_block_stop", "index": self._index}

    def _delta(self, delta: JsonObject) -> JsonObject:
        return {"type": "content_block_delta", "index": self._index, "delta": delta}

    def _end(self, finish_reason: str, usage: Usage) -> Iterator[JsonObject]:
        yield from self._close()
        stop = {"stop_reason": stop_reason_of(finish_reason, self._called), "stop_sequence": None}
        yield {"type": "message_delta", "delta": stop, "usage": write_usage(usage)}  # type: ignore[dict-item]
        yield {"type": "message_stop"}
