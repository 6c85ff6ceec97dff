"""Serves the policy that is being trained: `python policy_server.py --model FOLDER --port N`.

Chat completions as vLLM answers them when asked for `logprobs` and `return_token_ids`; `PUT /weights` takes the
trainer's weights as a safetensors file. It stands in for vLLM where there is no GPU, and for tiny models.
"""

import argparse
import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from aiohttp import web
from sampling import Reply, Sampler, Wish
from transformers import AutoTokenizer

HOST = "127.0.0.1"
MOST_BYTES = 2**30
TOKENS = 16
"""Of a reply that nobody bounds."""


class PolicyServer:
    """The handlers."""

    def __init__(self, folder: Path) -> None:
        self._words = AutoTokenizer.from_pretrained(folder)
        self._sampler = Sampler(folder)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=MOST_BYTES)
        app.add_routes(
            [
                web.post("/v1/chat/completions", self.complete),
                web.put("/weights", self.load),
                web.get("/health", self.health),
            ]
        )
        app.cleanup_ctx.append(self._sampling)
        return app

    async def _sampling(self, app: web.Application) -> AsyncIterator[None]:
        task = asyncio.create_task(self._sampler.run())
        yield
        task.cancel()

    async def health(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def load(self, request: web.Request) -> web.Response:
        """The weights that all replies have from now on."""
        weights = await request.read()
        try:
            await asyncio.to_thread(self._sampler.load, weights)
        except (RuntimeError, ValueError) as error:
            raise web.HTTPBadRequest(text=f"these are no weights of this model: {error}") from error
        return web.json_response({"bytes": len(weights)})

    async def complete(self, request: web.Request) -> web.Response:
        asked = await request.json()
        written = self._words.apply_chat_template(
            asked["messages"], tokenize=True, add_generation_prompt=True, return_dict=True
        )
        prompt = list(written["input_ids"])
        temperature = asked.get("temperature")
        wish = Wish(
            prompt=prompt,
            most=asked.get("max_tokens") or TOKENS,
            temperature=1.0 if temperature is None else temperature,
            seed=asked.get("seed"),
        )
        return web.json_response(self._body(asked, prompt, await self._sampler.sample(wish)))

    def _body(self, asked: dict[str, Any], prompt: list[int], reply: Reply) -> dict[str, Any]:
        tokens = self._words.convert_ids_to_tokens(reply.token_ids)
        logprobs = zip(tokens, reply.logprobs, strict=True)
        choice = {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": self._words.decode(reply.token_ids, skip_special_tokens=True),
            },
            "finish_reason": "stop" if reply.ended else "length",
            "logprobs": {"content": [{"token": token, "logprob": value} for token, value in logprobs]},
            "token_ids": reply.token_ids,
        }
        return {
            "id": f"chatcmpl-{time.time_ns()}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": asked.get("model"),
            "choices": [choice],
            "prompt_token_ids": prompt,
            "usage": {
                "prompt_tokens": len(prompt),
                "completion_tokens": len(reply.token_ids),
                "total_tokens": len(prompt) + len(reply.token_ids),
            },
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="a folder with model and tokenizer")
    parser.add_argument("--port", type=int, default=8400)
    asked = parser.parse_args()
    web.run_app(PolicyServer(asked.model).app(), host=HOST, port=asked.port, print=lambda line: None)


if __name__ == "__main__":
    main()
