"""A model server that answers by script, at once: OpenAI chat completions for tests and benchmarks.

`python tests/support/scripted_model.py --port 0 --port-file F --script tool_loop --log L`

A request's `model` is `scripted` (the script of `--script`) or the name of any script; others are a 404. Requests are
checked as strictly as a real server checks them. Tokens are bytes of text, so token ids can be predicted. Requests are
counted by their `x-request-id`; `GET /counts` tells, and `--log` gets one JSON line for each. `POST /fault` with
`{"script": "error500"}` lets that script answer for all models until the next `POST /fault` (`{}`: none). As it stands
for a model that takes no time it must cost next to none: a bare protocol on uvloop, no framework.
"""

import argparse
import asyncio
import contextlib
import os
import random
import re
import signal
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

import orjson
import uvloop
from pydantic import BaseModel, ConfigDict, Field, ValidationError

# --- What a request may be -----------------------------------------------------------------------------------------


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


Text = str | list[dict[str, Any]]


class Instruction(Strict):
    role: Literal["system", "developer", "user"]
    content: Text
    name: str | None = None


class FunctionCall(Strict):
    name: str
    arguments: str


class ToolCall(Strict):
    id: str = Field(min_length=1, max_length=40)
    type: Literal["function"]
    function: FunctionCall


class Reply(Strict):
    role: Literal["assistant"]
    content: Text | None = None
    tool_calls: list[ToolCall] = Field(default=[], min_length=1)
    name: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None


class ToolResult(Strict):
    role: Literal["tool"]
    content: Text
    tool_call_id: str


Message = Annotated[Instruction | Reply | ToolResult, Field(discriminator="role")]


class Function(Strict):
    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    description: str | None = None
    parameters: dict[str, Any] = {}
    strict: bool | None = None


class Tool(Strict):
    type: Literal["function"]
    function: Function


class JsonSchema(Strict):
    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    schema_: dict[str, Any] = Field(alias="schema")
    strict: bool | None = None
    description: str | None = None


class ResponseFormat(Strict):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


class StreamOptions(Strict):
    include_usage: bool


class Request(Strict):
    model: str
    messages: list[Message] = Field(min_length=1)
    tools: list[Tool] = Field(default=[], min_length=1)
    tool_choice: Literal["none", "auto", "required"] | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    stop: str | list[str] | None = None
    seed: int | None = None
    presence_penalty: float | None = Field(None, ge=-2, le=2)
    frequency_penalty: float | None = Field(None, ge=-2, le=2)
    response_format: ResponseFormat | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = Field(None, ge=0, le=20)
    n: Literal[1] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: str | None = None
    metadata: dict[str, str] | None = None
    return_token_ids: bool | None = None
    chat_template_kwargs: dict[str, Any] | None = None

    @property
    def limit(self) -> int | None:
        return self.max_completion_tokens or self.max_tokens

    @property
    def plain_json(self) -> bool:
        """Whether functions are offered as a JSON Schema for the reply, for want of native tool calls."""
        return not self.tools and bool(self._alternatives)

    @property
    def _alternatives(self) -> list[dict[str, Any]]:
        schema = self.response_format and self.response_format.json_schema
        found: list[dict[str, Any]] = schema.schema_.get("anyOf", []) if schema else []
        return found

    @property
    def offered(self) -> dict[str, dict[str, Any]]:
        """The functions offered, with the schemas of their arguments."""
        if self.tools and self.tool_choice != "none":
            return {tool.function.name: tool.function.parameters for tool in self.tools}
        properties = [alternative.get("properties", {}) for alternative in self._alternatives]
        return {p["name"]["const"]: p["arguments"] for p in properties if "name" in p}

    def texts(self, role: str) -> str:
        return "\n".join(text_of(message.content) for message in self.messages if message.role == role)

    @property
    def calls_made(self) -> list[tuple[str, str]]:
        """The calls made so far: name and result."""
        results = {m.tool_call_id: text_of(m.content) for m in self.messages if isinstance(m, ToolResult)}
        calls = []
        for message, after in zip(self.messages, [*self.messages[1:], None], strict=True):
            if isinstance(message, Reply):
                calls += [(c.function.name, results[c.id]) for c in message.tool_calls]
                if self.plain_json and (call := read_call(text_of(message.content))):
                    calls.append((call, text_of(after.content) if after else ""))
        return calls


def text_of(content: Text | None) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return content or ""


def read_call(text: str) -> str | None:
    try:
        name = orjson.loads(text).get("name")
    except (ValueError, AttributeError):
        return None
    return str(name) if name else None


class Refused(Exception):
    def __init__(self, status: int, message: str, code: str | None = None, retry_after: str | None = None):
        super().__init__(message)
        self.status, self.code, self.retry_after = status, code, retry_after


def read_request(body: bytes) -> Request:
    try:
        request = Request.model_validate_json(body)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise Refused(400, f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}") from error
    check_order(request.messages)
    if not request.tools and (request.tool_choice or request.parallel_tool_calls is not None):
        raise Refused(
            400, "'tool_choice' and 'parallel_tool_calls' are only allowed when 'tools' are specified"
        )
    shape = request.response_format
    if shape and shape.type == "json_schema" and not shape.json_schema:
        raise Refused(400, "Missing required parameter: 'response_format.json_schema'")
    return request


def check_order(messages: list[Any]) -> None:
    open_calls: set[str] = set()
    for number, message in enumerate(messages):
        if message.role == "tool":
            if message.tool_call_id not in open_calls:
                raise Refused(
                    400, f"messages.{number}: a 'tool' message must follow a message with 'tool_calls'"
                )
            open_calls.discard(message.tool_call_id)
        elif open_calls:
            raise Refused(400, f"messages.{number}: no tool message answers {sorted(open_calls)}")
        elif message.role == "assistant":
            open_calls = {call.id for call in message.tool_calls}
            if message.content is None and not open_calls:
                raise Refused(400, f"messages.{number}: an assistant message needs content or tool_calls")
    if open_calls:
        raise Refused(400, f"messages: no tool message answers {sorted(open_calls)}")


# --- What a script may do ------------------------------------------------------------------------------------------


@dataclass
class Say:
    text: str


@dataclass
class Call:
    name: str
    arguments: dict[str, Any]


@dataclass
class Body:
    """These very bytes, as a 200."""

    content: bytes


@dataclass
class Stream:
    """A chunked body that never ends: `chunk` again every `every` seconds."""

    chunk: bytes
    every: float


class Close:
    """Close the connection without a word."""


@dataclass
class Cut:
    """Begin an answer of these bytes, and close the connection in the middle of it."""

    content: bytes


class Never:
    """Never answer."""


Action = Say | Call | Body | Stream | Close | Cut | Never


@dataclass
class Options:
    """What the command line says to scripts."""

    tool_calls: int = 3
    retry_after: str = "0"
    fail_first: int = 1


Script = Callable[[Request, int, Options], Action]
"""From a request, which time it is seen, and the options to what is done."""


def instant(request: Request, seen: int, options: Options) -> Action:
    return Say(r"\boxed{A}")


_OPTION = re.compile(r"^\s*\(?([A-Z])[:.)]", re.MULTILINE)


def mcqa(request: Request, seen: int, options: Options) -> Action:
    text = request.texts("user")
    letters = sorted(set(_OPTION.findall(text))) or ["A"]
    letter = letters[zlib.crc32(f"{request.seed}{text}".encode()) % len(letters)]
    return Say(f"Answer: {letter}" if "Answer:" in text and "boxed" not in text else rf"\boxed{{{letter}}}")


def mathematician(request: Request, seen: int, options: Options) -> Action:
    """Answers in a box what no symbolic comparison finds equal, and as a judge finds any two answers the same."""
    text = request.texts("user") + request.texts("system")
    return Say("They say the same. [[A=B]]" if "[[A=B]]" in text else r"The answer is \boxed{the usual one}")


def tool_loop(request: Request, seen: int, options: Options) -> Action:
    offered, made = request.offered, request.calls_made
    if {"increment_counter", "get_counter_value"} <= offered.keys():
        plan = counter_calls(request)
    elif {"get_synonym_value", "extract_synonym_values"} <= offered.keys():
        plan = synonym_calls(request)
    elif "get_weather" in offered:
        plan = iter([Call("get_weather", {"city": "San Francisco"})])
    else:
        plan = any_calls(offered, options.tool_calls)
    todo = list(plan)[len(made) :]
    return todo[0] if todo else Say(f"Done: {made[-1][1] if made else 'nothing to call'}")


def counter_calls(request: Request) -> Iterator[Call]:
    for amount in re.findall(r"\badd (-?\d+)", request.texts("user")):
        yield Call("increment_counter", {"count": int(amount)})
    yield Call("get_counter_value", {})


_SYNONYM = re.compile(r"The term '([^']+)' has a synonym '([^']+)'")


def synonym_calls(request: Request) -> Iterator[Call]:
    pairs = _SYNONYM.findall(request.texts("system") + request.texts("developer"))
    query = set(re.findall(r"[a-z]+", request.texts("user").lower()))
    terms = [term for term, _ in pairs if term.lower() in query] or [term for term, _ in pairs]
    for term, synonym in pairs:
        if term == terms[0]:
            yield Call("get_synonym_value", {"synonym": synonym})
    numbers = (
        re.findall(r"-?\d+", result) for name, result in request.calls_made if name == "get_synonym_value"
    )
    yield Call("extract_synonym_values", {"synonym_values": [int(found[-1]) for found in numbers if found]})


_PLAN = "Calls: "


def planned(request: Request, seen: int, options: Options) -> Action:
    """The calls that the user's message lists as JSON after `Calls: `, then the end."""
    plan = orjson.loads(request.texts("user").partition(_PLAN)[2])
    todo = plan[len(request.calls_made) :]
    return Call(todo[0]["name"], todo[0]["arguments"]) if todo else Say("All calls are made.")


def any_calls(offered: dict[str, dict[str, Any]], count: int) -> Iterator[Call]:
    names = list(offered)
    for number in range(count if names else 0):
        name = names[number % len(names)]
        yield Call(name, example(offered[name]) or {})


def example(schema: dict[str, Any]) -> Any:
    """A value that fits a simple schema."""
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    match schema.get("type"):
        case "object":
            return {name: example(value) for name, value in schema.get("properties", {}).items()}
        case "array":
            return [example(schema.get("items", {}))]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
    return "text"


def flaky(request: Request, seen: int, options: Options) -> Action:
    if seen <= options.fail_first:
        raise Refused(429, "Rate limit reached", "rate_limit_exceeded", options.retry_after)
    return Say("Back again.")


def rate_limited(request: Request, seen: int, options: Options) -> Action:
    raise Refused(429, "Rate limit reached", "rate_limit_exceeded", options.retry_after)


def error500(request: Request, seen: int, options: Options) -> Action:
    raise Refused(500, "The server had an error while processing your request")


def unauthorized(request: Request, seen: int, options: Options) -> Action:
    raise Refused(401, "Incorrect API key provided", "invalid_api_key")


def context_overflow(request: Request, seen: int, options: Options) -> Action:
    text = (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    )
    raise Refused(400, text, "context_length_exceeded")


def broken_json(request: Request, seen: int, options: Options) -> Action:
    return Body(b'{"id": "chatcmpl-1", "object": "chat.completion", "choices": [{"index": 0, "message": {"ro')


def no_choices(request: Request, seen: int, options: Options) -> Action:
    return Body(b'{"id": "chatcmpl-1", "object": "chat.completion", "choices": [], "usage": null}')


def endless(request: Request, seen: int, options: Options) -> Action:
    return Stream(b" " * 65536, every=0.0)


def trickle(request: Request, seen: int, options: Options) -> Action:
    return Stream(b" ", every=0.02)


def close(request: Request, seen: int, options: Options) -> Action:
    return Close()


def cut(request: Request, seen: int, options: Options) -> Action:
    return Cut(b'{"id": "chatcmpl-1", "object": "chat.completion", "choices": [{"index": 0, "message": {"ro')


def slow(request: Request, seen: int, options: Options) -> Action:
    return Never()


SCRIPTS: dict[str, Script] = {
    script.__name__: script
    for script in (
        instant,
        mcqa,
        mathematician,
        tool_loop,
        flaky,
        rate_limited,
        error500,
        unauthorized,
        context_overflow,
        broken_json,
        no_choices,
        endless,
        trickle,
        close,
        cut,
        planned,
        slow,
    )
}


# --- Replies as JSON -----------------------------------------------------------------------------------------------


def render(request: Request, action: Say | Call, request_id: str, size: int) -> bytes:
    if isinstance(action, Call) and not request.plain_json:
        return render_call(request, action, request_id, size)
    text, finish = render_text(request, action), "stop"
    if request.limit and len(text) > request.limit:
        text, finish = text[: request.limit], "length"
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": finish,
    }
    return completion(request, choice, text, size)


def render_text(request: Request, action: Say | Call) -> str:
    if isinstance(action, Say):
        return orjson.dumps({"answer": action.text}).decode() if request.plain_json else action.text
    return orjson.dumps({"name": action.name, "arguments": action.arguments}).decode()


def render_call(request: Request, action: Call, request_id: str, size: int) -> bytes:
    arguments = orjson.dumps(action.arguments).decode()
    function = {"name": action.name, "arguments": arguments}
    unique = zlib.crc32(f"{request_id} {len(request.messages)}".encode())
    call = {"id": f"call_{unique:08x}", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return completion(request, choice, action.name + arguments, size)


def completion(request: Request, choice: dict[str, Any], text: str, size: int) -> bytes:
    prompt, chosen = size // 4, len(text.encode())
    usage = {"prompt_tokens": prompt, "completion_tokens": chosen, "total_tokens": prompt + chosen}
    body = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.model,
        "choices": [choice],
        "usage": {**usage, "prompt_tokens_details": {"cached_tokens": prompt // 2}},
    }
    if request.logprobs:
        tokens = [
            {"token": chr(b), "bytes": [b], "logprob": -b / 256, "top_logprobs": []} for b in text.encode()
        ]
        choice["logprobs"] = {"content": tokens}
    if request.return_token_ids:
        choice["token_ids"] = list(text.encode())
        body["prompt_token_ids"] = list(text_of(request.messages[-1].content).encode())
    return orjson.dumps(body)


PIECE_CHARACTERS = 8


def streamed(answer: bytes, with_usage: bool) -> bytes:
    """The same answer as a stream of events, a few characters at a time."""
    body = orjson.loads(answer)
    (choice,) = body.pop("choices")
    usage, prompt = body.pop("usage"), body.pop("prompt_token_ids", None)
    head = {**body, "object": "chat.completion.chunk"}
    events = [{**head, "choices": [piece]} for piece in pieces_of(choice)]
    if prompt is not None:
        events[0]["prompt_token_ids"] = prompt
    events.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    if with_usage:
        events.append({**head, "choices": [], "usage": usage})
    return b"".join(b"data: %b\n\n" % orjson.dumps(event) for event in events) + b"data: [DONE]\n\n"


def pieces_of(choice: dict[str, Any]) -> Iterator[dict[str, Any]]:
    message = choice["message"]
    tokens = {name: choice[name] for name in ("logprobs", "token_ids") if name in choice}
    yield {"index": 0, "delta": {"role": "assistant", "content": ""}, **tokens}
    text = message.get("content") or ""
    for start in range(0, len(text), PIECE_CHARACTERS):
        yield {"index": 0, "delta": {"content": text[start : start + PIECE_CHARACTERS]}}
    for index, call in enumerate(message.get("tool_calls") or []):
        function = call["function"]
        begun = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        yield {"index": 0, "delta": {"tool_calls": [begun]}}
        grown = {"index": index, "function": {"arguments": function["arguments"]}}
        yield {"index": 0, "delta": {"tool_calls": [grown]}}


def error_body(error: Refused) -> bytes:
    kind = "invalid_request_error" if error.status < 500 else "server_error"
    return orjson.dumps({"error": {"message": str(error), "type": kind, "param": None, "code": error.code}})


# --- The server ----------------------------------------------------------------------------------------------------


@dataclass
class Model:
    """What all connections share."""

    script: Script
    options: Options
    latency: float
    spread: float
    log: TextIO | None
    counts: Counter[str] = field(default_factory=Counter)
    fault: Script | None = None
    not_before: dict[str, float] = field(default_factory=dict)
    hasty: Counter[str] = field(default_factory=Counter)

    def act(self, body: bytes, request_id: str) -> tuple[Request, Action]:
        self.counts[request_id] += 1
        if self.not_before and time.monotonic() < self.not_before.pop(request_id, 0.0):
            self.hasty[request_id] += 1
        request = read_request(body)
        script = self.script if request.model == "scripted" else SCRIPTS.get(request.model)
        if script is None:
            raise Refused(404, f"The model `{request.model}` does not exist", "model_not_found")
        return request, (self.fault or script)(request, self.counts[request_id], self.options)

    def order(self, body: bytes) -> None:
        """Let another script answer for all, or none."""
        script = orjson.loads(body).get("script")
        if script is not None and script not in SCRIPTS:
            raise Refused(400, f"there is no script {script!r}; there are: {', '.join(SCRIPTS)}")
        self.fault = SCRIPTS[script] if script else None

    def refused(self, error: Refused, request_id: str) -> tuple[str, ...]:
        """The headers of a refusal; who asks again before its Retry-After is noted as hasty."""
        if error.retry_after is None:
            return ()
        self.not_before[request_id] = time.monotonic() + float(error.retry_after)
        return (f"retry-after: {error.retry_after}",)

    def note(self, request_id: str, status: int) -> None:
        if self.log:
            line = {"request_id": request_id, "status": status, "time": time.time()}
            self.log.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE).decode())

    def tell(self, path: str) -> bytes:
        match path:
            case "/health":
                return b'{"status": "ok"}'
            case "/v1/models":
                models = [
                    {"id": name, "object": "model", "owned_by": "odradek"} for name in ("scripted", *SCRIPTS)
                ]
                return orjson.dumps({"object": "list", "data": models})
            case "/counts":
                return orjson.dumps(
                    {"total": self.counts.total(), "by_request_id": self.counts, "hasty": self.hasty}
                )
        raise Refused(404, f"Invalid URL (GET {path})")


JSON = "application/json"
_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
_REQUEST_ID = re.compile(rb"\r\nx-request-id:\s*([^\r]*)", re.IGNORECASE)
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


class Connection(asyncio.Protocol):
    """One keep-alive connection: requests are answered one after another."""

    transport: asyncio.Transport

    def __init__(self, model: Model) -> None:
        self.model = model
        self.buffer = b""
        self.busy = False
        self.flowing = asyncio.Event()
        self.jobs: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.flowing.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.busy = True
        for job in self.jobs:
            job.cancel()

    def pause_writing(self) -> None:
        self.flowing.clear()

    def resume_writing(self) -> None:
        self.flowing.set()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while not self.busy and self.take():
            pass

    def take(self) -> bool:
        """Answer the request at the front of the buffer, if it is all there."""
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = self.buffer[:end]
        found = _LENGTH.search(head)
        stop = end + 4 + (int(found[1]) if found else 0)
        if len(self.buffer) < stop:
            return False
        body, self.buffer = self.buffer[end + 4 : stop], self.buffer[stop:]
        self.answer(head, body)
        return True

    def answer(self, head: bytes, body: bytes) -> None:
        method, target, _ = head.split(b" ", 2)
        try:
            if method == b"GET":
                self.send(200, self.model.tell(target.decode()))
            elif method == b"POST" and target == b"/v1/chat/completions":
                self.complete(head, body)
            elif method == b"POST" and target == b"/fault":
                self.model.order(body)
                self.send(200, b"{}")
            else:
                raise Refused(404, f"Invalid URL ({method.decode()} {target.decode()})")
        except Refused as error:
            self.send(error.status, error_body(error))

    def complete(self, head: bytes, body: bytes) -> None:
        """Each request is in the log before its answer can be read."""
        found = _REQUEST_ID.search(head)
        request_id = found[1].decode() if found else ""
        try:
            request, action = self.model.act(body, request_id)
        except Refused as error:
            self.model.note(request_id, error.status)
            self.later(error.status, error_body(error), self.model.refused(error, request_id))
        else:
            self.model.note(request_id, 200)
            self.perform(request, action, request_id, len(body))

    def perform(self, request: Request, action: Action, request_id: str, size: int) -> None:
        match action:
            case Say() | Call() if request.stream:
                usage = request.stream_options is not None and request.stream_options.include_usage
                answer = streamed(render(request, action, request_id, size), usage)
                self.later(200, answer, kind="text/event-stream")
            case Say() | Call():
                self.later(200, render(request, action, request_id, size))
            case Body(content):
                self.later(200, content)
            case Stream():
                self.busy = True
                job = asyncio.ensure_future(self.stream(action))
                self.jobs.add(job)
                job.add_done_callback(self.jobs.discard)
            case Close():
                self.transport.close()
            case Cut(content):
                self.cut(content)
            case Never():
                self.busy = True

    def later(self, status: int, body: bytes, headers: tuple[str, ...] = (), kind: str = JSON) -> None:
        """Send after the model's latency."""
        if not self.model.latency:
            return self.send(status, body, headers, kind)
        self.busy = True
        spread = random.uniform(-self.model.spread, self.model.spread)
        latency = self.model.latency * (1 + spread)
        asyncio.get_running_loop().call_later(latency, self.resume, status, body, headers, kind)
        return None

    def resume(self, status: int, body: bytes, headers: tuple[str, ...], kind: str) -> None:
        if self.transport.is_closing():
            return
        self.busy = False
        self.send(status, body, headers, kind)
        self.data_received(b"")

    def send(self, status: int, body: bytes, headers: tuple[str, ...] = (), kind: str = JSON) -> None:
        extra = "".join(f"{header}\r\n" for header in headers)
        head = f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}\r\ncontent-type: {kind}\r\n"
        self.transport.write(f"{head}{extra}content-length: {len(body)}\r\n\r\n".encode() + body)

    def cut(self, content: bytes) -> None:
        head = (
            f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {2 * len(content)}\r\n\r\n"
        )
        self.transport.write(head.encode() + content)
        self.transport.close()

    async def stream(self, action: Stream) -> None:
        self.transport.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        chunk = f"{len(action.chunk):x}\r\n".encode() + action.chunk + b"\r\n"
        while True:
            self.transport.write(chunk)
            await asyncio.sleep(action.every)
            await self.flowing.wait()


async def serve(model: Model, host: str, port: int, port_file: Path | None) -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    server = await loop.create_server(lambda: Connection(model), host, port, backlog=4096)
    port = server.sockets[0].getsockname()[1]
    if port_file:
        partial = port_file.with_suffix(".partial")
        partial.write_text(str(port))
        os.replace(partial, port_file)
    print(f"scripted model on http://{host}:{port}/v1", flush=True)
    await stopped.wait()
    server.close()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--host", default="127.0.0.1", help="where it listens")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--port-file", type=Path, help="where to write the port once it listens")
    parser.add_argument("--script", choices=SCRIPTS, default="instant", help="what the model `scripted` does")
    parser.add_argument("--latency-ms", type=float, default=0.0, help="time before each answer")
    parser.add_argument(
        "--spread", type=float, default=0.0, help="share by which that time is shorter or longer, at random"
    )
    parser.add_argument("--log", type=Path, help="a JSON line for each chat completion asked for")
    parser.add_argument(
        "--tool-calls", type=int, default=3, help="tool_loop: calls of tools it does not know"
    )
    parser.add_argument("--retry-after", default="0", help="flaky, rate_limited: the Retry-After header")
    parser.add_argument(
        "--fail-first", type=int, default=1, help="flaky: 429s for each request id before it answers"
    )
    return parser.parse_args()


def main() -> None:
    given = parse_arguments()
    options = Options(given.tool_calls, given.retry_after, given.fail_first)
    with given.log.open("a", buffering=1) if given.log else contextlib.nullcontext() as log:
        model = Model(SCRIPTS[given.script], options, given.latency_ms / 1000, given.spread, log)
        uvloop.run(serve(model, given.host, given.port, given.port_file))


if __name__ == "__main__":
    main()
