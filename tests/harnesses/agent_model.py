"""A model that does the same task in every program, by script: a server of chat completions.

It reads a file, writes another that only who has read the first can write, and says so.
"""

import itertools
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.harnesses.tool_choice import Tool, Wanted, last_call, shell_call

SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""What mini-swe-agent waits for on its shell's output."""

TASK = (
    '--help is not meant, nor is "{token}", $HOME or \'\\:\n'
    "The file question.txt in the working folder holds a number. "
    "Write the double of that number to the file answer.txt there, and say when it is done."
)
"""It begins like an option, and holds what configuration and shells would read as their own."""
RESULT = "answer.txt holds the double"
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def ask(workspace: Path, number: int) -> None:
    """Put the question into the workspace."""
    (workspace / "question.txt").write_text(f"the number is {number}\n")


class AgentModel:
    """`steps`: what it was brought to do, in order. `fault`: a status that it answers to all instead."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.fault: int | None = None
        self._ids = map("call_{}".format, itertools.count(1))
        self._called: set[str] = set()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if self.fault is not None:
            error = {"message": "the scripted model refuses", "type": "scripted", "code": None}
            return web.json_response({"error": error}, status=self.fault)
        message, reason = self._next(body)
        if body.get("stream"):
            return await _streamed(request, body["model"], message, reason)
        head = {"id": "1", "object": "chat.completion", "created": 1, "model": body["model"]}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return web.json_response({**head, "choices": [choice], "usage": USAGE})

    def _next(self, body: dict[str, Any]) -> tuple[dict[str, Any], str]:
        texts = [_text(message) for message in body["messages"]]
        tools = [tool["function"] for tool in body.get("tools") or []]
        match sum(map(self._is_answer, body["messages"])):
            case 0:
                told = any(TASK in text for text in texts)
                return self._call("read" if told else "not the task", shell_call(tools, "cat question.txt"))
            case 1:
                return self._call("write", shell_call(tools, f"echo {_doubled(texts)} > answer.txt"))
        return self._end(tools, any(SUBMIT in text for text in texts))

    def _end(self, tools: list[Tool], to_submit: bool) -> tuple[dict[str, Any], str]:
        if to_submit:
            return self._call("end", shell_call(tools, f"echo {SUBMIT}; echo {RESULT}"))
        if (wanted := last_call(tools, RESULT)) is not None:
            return self._call("end", wanted)
        self.steps.append("end")
        return {"role": "assistant", "content": RESULT}, "stop"

    def _call(self, step: str, wanted: Wanted | None) -> tuple[dict[str, Any], str]:
        self.steps.append(step if wanted else f"{step}: no tool for it")
        if wanted is None:
            return {"role": "assistant", "content": "There is no tool for it."}, "stop"
        call_id = next(self._ids)
        self._called.add(_plain(call_id))
        function = {"name": wanted.name, "arguments": wanted.arguments}
        call = {"id": call_id, "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"

    def _is_answer(self, message: dict[str, Any]) -> bool:
        """Whether it answers a call of this model's; programs put other calls into the conversation, too."""
        return message["role"] == "tool" and _plain(message["tool_call_id"]) in self._called


@asynccontextmanager
async def serving(model: AgentModel) -> AsyncIterator[str]:
    """Serve it; yields the base URL."""
    app = web.Application(client_max_size=64 << 20)
    app.add_routes([web.post("/v1/chat/completions", model.answer)])
    async with on_loopback(app) as url:
        yield f"{url}/v1"


@asynccontextmanager
async def on_loopback(app: web.Application) -> AsyncIterator[str]:
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def _plain(call_id: str) -> str:
    """The letters and digits of an id: OpenClaw leaves out what else there is."""
    return "".join(filter(str.isalnum, call_id))


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _doubled(texts: list[str]) -> str:
    """What was read is in the answer to the call, or, in NOOA, in a message after it."""
    found = re.search(r"the number is (\d+)", "\n".join(texts))
    return str(2 * int(found[1])) if found else "no number"


async def _streamed(
    request: web.Request, model: str, message: dict[str, Any], reason: str
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    calls = [{"index": index, **call} for index, call in enumerate(message.get("tool_calls") or [])]
    delta = {**message, "tool_calls": calls} if calls else message
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": model}
    chunks = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {**head, "choices": [], "usage": USAGE},
    ]
    for chunk in (*map(json.dumps, chunks), "[DONE]"):
        await response.write(f"data: {chunk}\n\n".encode())
    return response
