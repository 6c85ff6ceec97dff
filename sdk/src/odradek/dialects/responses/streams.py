"""Streams of the Responses API.

Source: the OpenAI API reference, "Streaming events": each item of the output is added, grows and is done, one after
another, within a response that is created and completed.
"""

from collections.abc import Iterator

from odradek.dialects.core import DialectError, a_text, an_object, usage_of
from odradek.dialects.deltas import CallDelta, Delta
from odradek.dialects.responses.growing import Growing, GrowingCall, GrowingReasoning, GrowingText
from odradek.dialects.responses.replies import USAGE, finish_reason_of, response_of
from odradek.dialects.responses.tools import Form, Forms
from odradek_schemas.base import JsonObject
from odradek_schemas.messages import Usage

_TEXTS = {"response.output_text.delta": "text", "response.refusal.delta": "refusal"}
_THOUGHTS = frozenset({"response.reasoning_text.delta", "response.reasoning_summary_text.delta"})
_ENDS = frozenset({"response.completed", "response.incomplete"})
_FAILURES = frozenset({"response.failed", "error"})


class StreamReader:
    """Events in, deltas out."""

    def __init__(self) -> None:
        self._calls: dict[object, int] = {}

    def read(self, event: JsonObject) -> Iterator[Delta]:
        """The deltas of one event. Raises DialectError: it can't be read, or says that the response failed."""
        kind = str(event.get("type"))
        if kind in _TEXTS:
            yield Delta(**{_TEXTS[kind]: a_text(event.get("delta"))})  # type: ignore[arg-type]
        elif kind in _THOUGHTS:
            yield Delta(reasoning=a_text(event.get("delta")))
        elif kind == "response.output_item.added":
            yield from self._added(event)
        elif kind == "response.function_call_arguments.delta":
            index = self._calls.get(event.get("output_index"), 0)
            yield Delta(call=CallDelta(index, arguments=a_text(event.get("delta"))))
        elif kind == "response.output_item.done":
            yield from _sealed(an_object(event.get("item"), "item"))
        elif kind in _ENDS:
            yield self._end(an_object(event.get("response"), "response"))
        elif kind in _FAILURES:
            raise _failed(event)

    def _added(self, event: JsonObject) -> Iterator[Delta]:
        item = an_object(event.get("item"), "item")
        if item.get("type") == "function_call":
            index = self._calls[event.get("output_index")] = len(self._calls)
            yield Delta(call=CallDelta(index, a_text(item.get("call_id")), a_text(item.get("name"))))

    def _end(self, response: JsonObject) -> Delta:
        reason = finish_reason_of(response, bool(self._calls))
        return Delta(finish_reason=reason, usage=usage_of(response.get("usage"), *USAGE))


class StreamWriter:
    """Deltas in, events out. `created`: seconds since the epoch; `forms`: how the client knows the functions."""

    def __init__(self, reply_id: str, model: str, created: int, forms: Forms | None = None) -> None:
        self._id, self._model, self._created = reply_id, model, created
        self._forms = forms or {}
        self._output: list[JsonObject] = []
        self._open: Growing | None = None
        self._number = 0
        self._begun = False

    def write(self, delta: Delta) -> Iterator[JsonObject]:
        """The events of one delta, numbered; an item that is open is done when another begins."""
        for event in self._events(delta):
            yield {**event, "sequence_number": self._number}
            self._number += 1

    def _events(self, delta: Delta) -> Iterator[JsonObject]:
        if not self._begun:
            self._begun = True
            for kind in ("response.created", "response.in_progress"):
                yield {"type": kind, "response": self._response("in_progress", None)}
        if delta.reasoning:
            yield from self._grow(GrowingReasoning, delta.reasoning)
        if delta.detail is not None and delta.detail.get("encrypted_content"):
            yield from self._whole(delta.detail)
        if delta.text or delta.refusal:
            yield from self._grow(GrowingText, delta.text or delta.refusal, refused=bool(delta.refusal))
        if delta.call is not None:
            yield from self._call(delta.call)
        if delta.finish_reason is not None:
            yield from self._end(delta.finish_reason, delta.usage or Usage())

    def _grow(
        self, kind: type[GrowingReasoning] | type[GrowingText], piece: str, refused: bool = False
    ) -> Iterator[JsonObject]:
        if not isinstance(self._open, kind):
            yield from self._start(kind(*self._place()))
        assert self._open is not None
        yield from self._open.grow(piece, refused)

    def _call(self, call: CallDelta) -> Iterator[JsonObject]:
        if call.name is not None:
            form = self._forms.get(call.name, Form(call.name))
            yield from self._start(GrowingCall(*self._place(), call.index, call.id or "", form))
        if not isinstance(self._open, GrowingCall) or self._open.call != call.index:
            raise DialectError(
                "tool_calls", "pieces of several calls come mixed; here one call comes after another"
            )
        yield from self._open.grow(call.arguments)

    def _whole(self, item: JsonObject) -> Iterator[JsonObject]:
        yield from self._close()
        index = len(self._output)
        self._output.append(item)
        for kind in ("added", "done"):
            yield {"type": f"response.output_item.{kind}", "output_index": index, "item": item}

    def _place(self) -> tuple[int, str]:
        """Where the next item stands in the output, and its id."""
        index = len(self._output) + (self._open is not None)
        return index, f"{self._id}_{index}"

    def _start(self, item: Growing) -> Iterator[JsonObject]:
        yield from self._close()
        self._open = item
        yield from item.start()

    def _close(self) -> Iterator[JsonObject]:
        item, self._open = self._open, None
        if item is not None:
            yield from item.done()
            self._output.append(item.item)

    def _end(self, finish_reason: str, usage: Usage) -> Iterator[JsonObject]:
        yield from self._close()
        response = self._response(finish_reason, usage)
        yield {"type": f"response.{response['status']}", "response": response}

    def _response(self, finish_reason: str, usage: Usage | None) -> JsonObject:
        return response_of(self._id, self._model, self._created, self._output, finish_reason, usage)


def _sealed(item: JsonObject) -> Iterator[Delta]:
    if item.get("type") == "reasoning" and item.get("encrypted_content"):
        yield Delta(detail=item)


def _failed(event: JsonObject) -> DialectError:
    response = event.get("response")
    error = response.get("error") if isinstance(response, dict) else event
    told = error.get("message") if isinstance(error, dict) else None
    return DialectError("response.error", a_text(told) or "the response failed, and does not say why")
