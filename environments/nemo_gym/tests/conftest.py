"""A server of NeMo Gym's kind, and rows for it."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from odradek import JsonObject
from odradek_nemo_gym import NemoGym

sys.path.insert(0, str(Path(__file__).parent / "support"))

from strict_server import CounterServer, serving


@pytest.fixture
async def server() -> AsyncIterator[CounterServer]:
    async with serving(CounterServer()) as server:
        yield server


@pytest.fixture
def row() -> JsonObject:
    """A task: the counter is at 3, is to be at 5, and only the server's side may know it."""
    return {
        "responses_create_params": {
            "input": [{"role": "user", "content": "add 2, then read the counter"}],
            "tools": [
                _tool("increment_counter", {"count": {"type": "integer"}}),
                _tool("get_counter_value", {}),
            ],
            "metadata": {"origin": "made up"},
        },
        "initial_count": 3,
        "expected_count": 5,
        "verifier_metadata": {"difficulty": "easy"},
        "id": 7,
    }


def _tool(name: str, properties: JsonObject) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "name": name, "description": name, "parameters": schema, "strict": True}


@pytest.fixture
def bridged(server: CounterServer) -> Any:
    """The environment, at that server; takes more settings."""
    return lambda **settings: NemoGym({"server_url": server.url, "connect_seconds": 0.0, **settings})
