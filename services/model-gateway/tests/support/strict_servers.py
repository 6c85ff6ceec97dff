"""Providers as strict as the real ones: each refuses what its API would refuse, and answers in its own shape.

Sources: the API references of OpenAI (chat completions, Responses) and Anthropic (Messages, extended thinking, tool
use). A field that a model below does not name is refused, as the real server does.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

Json = dict[str, Any]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Function(Strict):
    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    description: str | None = None
    parameters: Json = {}
    strict: bool | None = None


# --- OpenAI chat completions ---------------------------------------------------------------------------------------


class TextPart(Strict):
    type: Literal["text"]
    text: str


class ImageUrl(Strict):
    url: str = Field(pattern=r"^(https://|data:image/)")
    detail: Literal["auto", "low", "high"] = "auto"


class ImagePart(Strict):
    type: Literal["image_url"]
    image_url: ImageUrl


class ChatInstruction(Strict):
    role: Literal["system", "developer"]
    content: str | list[TextPart]


class ChatUser(Strict):
    role: Literal["user"]
    content: str | list[Annotated[TextPart | ImagePart, Field(discriminator="type")]]


class ChatFunctionCall(Strict):
    name: str
    arguments: str


class ChatCall(Strict):
    id: str = Field(max_length=40)
    type: Literal["function"]
    function: ChatFunctionCall


class ChatReply(Strict):
    role: Literal["assistant"]
    content: str | list[TextPart] | None = None
    refusal: str | None = None
    tool_calls: list[ChatCall] = Field(default=[], min_length=1)


class ChatResult(Strict):
    """Text alone: OpenAI takes no pictures from tools."""

    role: Literal["tool"]
    tool_call_id: str
    content: str | list[TextPart]


class ChatTool(Strict):
    type: Literal["function"]
    function: Function


class ChatRequest(Strict):
    model: str
    messages: list[
        Annotated[ChatInstruction | ChatUser | ChatReply | ChatResult, Field(discriminator="role")]
    ]
    tools: list[ChatTool] = Field(default=[], min_length=1)
    tool_choice: Literal["none", "auto", "required"] | Json | None = None
    parallel_tool_calls: bool | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    response_format: Json | None = None
    reasoning_effort: str | None = None


class ReasoningReply(ChatReply):
    reasoning_content: str | None = None
    reasoning_details: list[Json] | None = None


class OpenChatResult(Strict):
    role: Literal["tool"]
    tool_call_id: str
    content: str | list[Annotated[TextPart | ImagePart, Field(discriminator="type")]]


class OpenChatRequest(ChatRequest):
    """What open servers and their hosts take besides: reasoning, pictures from tools, their own sampling."""

    messages: list[  # type: ignore[assignment]
        Annotated[ChatInstruction | ChatUser | ReasoningReply | OpenChatResult, Field(discriminator="role")]
    ]
    max_tokens: int | None = None
    top_k: int | None = None
    logprobs: bool | None = None
    return_token_ids: bool | None = None
    cache_prompt: bool | None = None


# --- Responses -----------------------------------------------------------------------------------------------------


class InputText(Strict):
    type: Literal["input_text"]
    text: str


class InputImage(Strict):
    type: Literal["input_image"]
    image_url: str
    detail: str = "auto"


class OutputText(Strict):
    type: Literal["output_text"]
    text: str
    annotations: list[Json]


class ReasoningText(Strict):
    type: Literal["reasoning_text"]
    text: str


Inputs = list[Annotated[InputText | InputImage | OutputText, Field(discriminator="type")]]


class MessageItem(Strict):
    type: Literal["message"]
    role: Literal["system", "developer", "user", "assistant"]
    content: str | Inputs


class ReasoningItem(Strict):
    type: Literal["reasoning"]
    id: str | None = None
    summary: list[Json]
    content: list[ReasoningText] = []
    encrypted_content: str | None = None


class CallItem(Strict):
    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str


class ResultItem(Strict):
    type: Literal["function_call_output"]
    call_id: str
    output: str | Inputs


class FlatTool(Function):
    type: Literal["function"]


class ResponsesRequest(Strict):
    model: str
    input: list[Annotated[MessageItem | ReasoningItem | CallItem | ResultItem, Field(discriminator="type")]]
    store: bool
    include: list[Literal["reasoning.encrypted_content"]] = []
    tools: list[FlatTool] = []
    tool_choice: Literal["none", "auto", "required"] | Json | None = None
    parallel_tool_calls: bool | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    reasoning: Json | None = None
    text: Json | None = None


# --- Anthropic Messages --------------------------------------------------------------------------------------------


class Source(Strict):
    type: Literal["base64", "url"]
    media_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"] | None = None
    data: str | None = None
    url: str | None = None


class TextBlock(Strict):
    type: Literal["text"]
    text: str = Field(min_length=1)


class ImageBlock(Strict):
    type: Literal["image"]
    source: Source


class ThinkingBlock(Strict):
    type: Literal["thinking"]
    thinking: str
    signature: str = Field(min_length=1)


class UseBlock(Strict):
    type: Literal["tool_use"]
    id: str = Field(pattern=r"^[a-zA-Z0-9_-]+$")
    name: str
    input: Json


class ResultBlock(Strict):
    type: Literal["tool_result"]
    tool_use_id: str
    content: str | list[Annotated[TextBlock | ImageBlock, Field(discriminator="type")]]


class AnthropicMessage(Strict):
    role: Literal["user", "assistant"]
    content: (
        str
        | list[
            Annotated[
                TextBlock | ImageBlock | ThinkingBlock | UseBlock | ResultBlock, Field(discriminator="type")
            ]
        ]
    )


class AnthropicTool(Strict):
    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,128}$")
    description: str | None = None
    input_schema: Json
    strict: bool | None = None


class MessagesRequest(Strict):
    model: str
    max_tokens: int = Field(ge=1)
    messages: list[AnthropicMessage] = Field(min_length=1)
    system: str | list[TextBlock] | None = None
    tools: list[AnthropicTool] = []
    tool_choice: Json | None = None
    temperature: float | None = Field(None, ge=0, le=1)
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: list[str] = []
    thinking: Json | None = None
    output_config: Json | None = None


def check_turns(request: MessagesRequest) -> None:
    """Every tool_use is answered in the very next message, and a budget of thinking leaves room to speak."""
    for message, after in zip(request.messages, [*request.messages[1:], None], strict=True):
        asked = {block.id for block in _blocks(message) if isinstance(block, UseBlock)}
        given = {block.tool_use_id for block in _blocks(after) if isinstance(block, ResultBlock)}
        if asked != given and (asked or message.role == "assistant"):
            raise Refused(
                400, f"`tool_use` ids without `tool_result` blocks immediately after: {asked ^ given}"
            )
    if request.thinking and request.thinking["budget_tokens"] >= request.max_tokens:
        raise Refused(400, "`max_tokens` must be greater than `thinking.budget_tokens`")


def _blocks(message: AnthropicMessage | None) -> list[Any]:
    return [] if message is None or isinstance(message.content, str) else message.content


# --- The servers ---------------------------------------------------------------------------------------------------


class Refused(Exception):
    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code = status, code


USAGE = {
    "prompt_tokens": 20,
    "completion_tokens": 7,
    "total_tokens": 27,
    "prompt_tokens_details": {"cached_tokens": 4},
}
CHAT_ANSWER: Json = {
    "id": "c1",
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "Again.",
                "tool_calls": [
                    {
                        "id": "call_9",
                        "type": "function",
                        "function": {"name": "zoom", "arguments": '{"factor":8}'},
                    }
                ],
            },
        }
    ],
    "usage": USAGE,
}
RESPONSES_ANSWER: Json = {
    "id": "r1",
    "object": "response",
    "status": "completed",
    "incomplete_details": None,
    "output": [
        {"type": "reasoning", "id": "rs1", "summary": [], "encrypted_content": "c2VhbGVk"},
        {
            "type": "message",
            "id": "m1",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Again.", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "f1",
            "call_id": "call_9",
            "name": "zoom",
            "arguments": '{"factor":8}',
        },
    ],
    "usage": {"input_tokens": 20, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 7},
}
MESSAGES_ANSWER: Json = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "Closer.", "signature": "c2VhbGVk"},
        {"type": "text", "text": "Again."},
        {"type": "tool_use", "id": "call_9", "name": "zoom", "input": {"factor": 8}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 16, "cache_read_input_tokens": 4, "output_tokens": 7},
}


@dataclass
class Provider:
    """One API: where it listens, what it demands, what it answers. `failing` replaces the answer by an error."""

    path: str
    request: type[BaseModel]
    answer: Json
    headers: Mapping[str, str]
    anthropic: bool = False
    seen: list[Json] = field(default_factory=list)
    failing: Refused | None = None

    async def handle(self, request: web.Request) -> web.Response:
        try:
            self._check_headers(request)
            if self.failing is not None:
                raise self.failing
            self._check(await request.json())
        except Refused as error:
            return web.json_response(self._error(error), status=error.status)
        return web.json_response(self.answer)

    def _check_headers(self, request: web.Request) -> None:
        for name, value in self.headers.items():
            if request.headers.get(name) != value:
                raise Refused(401, f"header {name} is {request.headers.get(name)!r}", "invalid_api_key")

    def _check(self, body: Json) -> None:
        self.seen.append(body)
        try:
            read = TypeAdapter(self.request).validate_python(body)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            raise Refused(
                400, f"Unknown or bad: {'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            ) from error
        if isinstance(read, MessagesRequest):
            check_turns(read)

    def _error(self, error: Refused) -> Json:
        if self.anthropic:
            kind = error.code or "invalid_request_error"
            return {"type": "error", "error": {"type": kind, "message": str(error)}}
        return {
            "error": {
                "message": str(error),
                "type": "invalid_request_error",
                "param": None,
                "code": error.code,
            }
        }


_BEARER = {"Authorization": "Bearer sk-1"}
_ANTHROPIC = {"x-api-key": "sk-1", "anthropic-version": "2023-06-01"}


def providers() -> dict[str, Provider]:
    """A fresh one for each preset."""
    return {
        "openai": Provider("/v1/chat/completions", ChatRequest, CHAT_ANSWER, _BEARER),
        "azure": Provider("/openai/v1/chat/completions", ChatRequest, CHAT_ANSWER, {"api-key": "sk-1"}),
        "openai_responses": Provider("/v1/responses", ResponsesRequest, RESPONSES_ANSWER, _BEARER),
        "anthropic": Provider("/v1/messages", MessagesRequest, MESSAGES_ANSWER, _ANTHROPIC, anthropic=True),
        "fireworks": Provider("/inference/v1/chat/completions", OpenChatRequest, CHAT_ANSWER, _BEARER),
        "together": Provider("/v1/chat/completions", OpenChatRequest, CHAT_ANSWER, _BEARER),
        "openrouter": Provider("/api/v1/chat/completions", OpenChatRequest, CHAT_ANSWER, _BEARER),
        "vllm": Provider("/v1/chat/completions", OpenChatRequest, CHAT_ANSWER, {}),
        "sglang": Provider("/v1/chat/completions", OpenChatRequest, CHAT_ANSWER, {}),
        "llama_cpp": Provider("/v1/chat/completions", OpenChatRequest, CHAT_ANSWER, {}),
    }


async def serve(provider: Provider) -> tuple[str, Callable[[], Awaitable[None]]]:
    """Listen on a free port of loopback: the origin, and how to stop."""
    app = web.Application()
    app.router.add_post(provider.path, provider.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    return f"http://127.0.0.1:{port}", runner.cleanup
