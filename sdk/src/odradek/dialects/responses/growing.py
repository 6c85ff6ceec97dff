"""Output items that grow while they are streamed: each tells that it begins, its pieces, and that it is done."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from pydantic import JsonValue

from odradek.dialects.responses.tools import Form, free_text
from odradek_schemas.base import JsonObject


class Growing(ABC):
    """An item under way, at its place in the output."""

    def __init__(self, index: int, item_id: str) -> None:
        self._index, self._id = index, item_id
        self._pieces: list[str] = []
        self._status = "in_progress"

    @property
    @abstractmethod
    def item(self) -> JsonObject:
        """What has come of it."""

    @abstractmethod
    def grow(self, piece: str, refused: bool = False) -> Iterator[JsonObject]:
        """The events of a further piece."""

    def start(self) -> Iterator[JsonObject]:
        """The events at its beginning."""
        yield {"type": "response.output_item.added", "output_index": self._index, "item": self.item}

    def done(self) -> Iterator[JsonObject]:
        """The events at its end."""
        self._status = "completed"
        yield {"type": "response.output_item.done", "output_index": self._index, "item": self.item}

    def _event(self, kind: str, **more: JsonValue) -> JsonObject:
        return {"type": kind, "item_id": self._id, "output_index": self._index, **more}

    @property
    def _text(self) -> str:
        return "".join(self._pieces)


class GrowingText(Growing):
    """The model's message, in one part: text, or why it refuses."""

    def __init__(self, index: int, item_id: str) -> None:
        super().__init__(index, item_id)
        self._refused: bool | None = None

    @property
    def item(self) -> JsonObject:
        parts = [] if self._refused is None else [self._part]
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "status": self._status,
            "content": parts,  # type: ignore[dict-item]
        }

    def grow(self, piece: str, refused: bool = False) -> Iterator[JsonObject]:
        if self._refused is None:
            self._refused = refused
            yield self._event("response.content_part.added", content_index=0, part=self._part)
        self._pieces.append(piece)
        more: JsonObject = {} if self._refused else {"logprobs": []}
        yield self._event(f"response.{self._kind}.delta", content_index=0, delta=piece, **more)

    def done(self) -> Iterator[JsonObject]:
        if self._refused is not None:
            told: JsonObject = (
                {"refusal": self._text} if self._refused else {"text": self._text, "logprobs": []}
            )
            yield self._event(f"response.{self._kind}.done", content_index=0, **told)
            yield self._event("response.content_part.done", content_index=0, part=self._part)
        yield from super().done()

    @property
    def _kind(self) -> str:
        return "refusal" if self._refused else "output_text"

    @property
    def _part(self) -> JsonObject:
        if self._refused:
            return {"type": "refusal", "refusal": self._text}
        return {"type": "output_text", "text": self._text, "annotations": []}


class GrowingReasoning(Growing):
    """Reasoning that is told as it is."""

    @property
    def item(self) -> JsonObject:
        content: JsonObject = {"type": "reasoning_text", "text": self._text}
        parts = [content] if self._pieces else []
        return {
            "id": self._id,
            "type": "reasoning",
            "status": self._status,
            "summary": [],
            "content": parts,  # type: ignore[dict-item]
        }

    def grow(self, piece: str, refused: bool = False) -> Iterator[JsonObject]:
        self._pieces.append(piece)
        yield self._event("response.reasoning_text.delta", content_index=0, delta=piece)

    def done(self) -> Iterator[JsonObject]:
        yield self._event("response.reasoning_text.done", content_index=0, text=self._text)
        yield from super().done()


class GrowingCall(Growing):
    """A call; `call` is its number in the reply. The text of a custom tool is known only when it is whole."""

    def __init__(self, index: int, item_id: str, call: int, call_id: str, form: Form) -> None:
        super().__init__(index, item_id)
        self.call = call
        self._call_id, self._form = call_id, form

    @property
    def item(self) -> JsonObject:
        head: JsonObject = {
            "id": self._id,
            "status": self._status,
            "call_id": self._call_id,
            "name": self._form.name,
        }
        if self._form.custom:
            text = free_text(self._text) if self._status == "completed" else ""
            return {**head, "type": "custom_tool_call", "input": text}
        item: JsonObject = {**head, "type": "function_call", "arguments": self._text}
        return item if self._form.namespace is None else {**item, "namespace": self._form.namespace}

    def grow(self, piece: str, refused: bool = False) -> Iterator[JsonObject]:
        self._pieces.append(piece)
        if piece and not self._form.custom:
            yield self._event("response.function_call_arguments.delta", delta=piece)

    def done(self) -> Iterator[JsonObject]:
        if self._form.custom:
            text = free_text(self._text)
            yield self._event("response.custom_tool_call_input.delta", delta=text)
            yield self._event("response.custom_tool_call_input.done", input=text)
        else:
            told: JsonObject = {"name": self._form.name, "arguments": self._text}
            yield self._event("response.function_call_arguments.done", **told)
        yield from super().done()
