"""The small model's server, really answering."""

from pathlib import Path

import aiohttp
import pytest

from odradek_local.model import MODEL, ModelServer

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.model
async def test_it_answers_a_chat_completion_in_the_asked_shape(tmp_path: Path) -> None:
    server = ModelServer(tmp_path / "model.log", port=0)
    request = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Name a city, as JSON."}],
        "max_tokens": 40,
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}},
    }
    server.start()
    try:
        await server.healthy()
        url = f"{server.base_url}/chat/completions"
        async with aiohttp.ClientSession() as session, session.post(url, json=request) as response:
            answer = await response.json()
    finally:
        server.stop()
    assert response.status == 200, answer
    assert answer["choices"][0]["message"]["content"].lstrip().startswith("{")
    assert "city" in answer["choices"][0]["message"]["content"]
    assert answer["usage"]["completion_tokens"] > 0
    assert not server.process.running
