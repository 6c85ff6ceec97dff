"""Agents that run elsewhere: asked over HTTP, each bad answer an outcome."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from tiny_programs import CALL

from odradek.programs import Program, Trouble
from odradek_env_worker.programs import run
from odradek_env_worker.programs.remote import MOST_ANSWER


@pytest.fixture
async def server() -> AsyncIterator[TestServer]:
    app = web.Application()
    app.add_routes([web.post("/{how}", answer)])
    async with TestServer(app) as server:
        yield server


async def answer(request: web.Request) -> web.StreamResponse:
    asked = await request.json()
    match request.match_info["how"]:
        case "well":
            return web.json_response({"result": f"{sorted(asked.items())}"})
        case "error":
            return web.Response(status=503, text="no place left")
        case "words":
            return web.Response(text="done")
        case "other":
            return web.json_response({"answer": 42})
        case "endless":
            return web.Response(body=b"x" * (2 * MOST_ANSWER))
    await asyncio.sleep(600)
    return web.Response()


def remote(url: object) -> Program:
    fields = {"name": "agent", "dialect": "chat", "streams": False, "url": str(url)}
    return Program.model_validate(fields)


async def test_a_remote_agent_is_told_what_a_program_is_told(server: TestServer, tmp_path: Path) -> None:
    outcome = await run(remote(server.make_url("/well")), CALL, tmp_path, 60)
    told = {
        "prompt": "Do it.",
        "model": "m",
        "base_url": "http://gateway:1",
        "token": "***",
        "rollout_id": "run/0/0",
    }
    assert outcome.result == f"{sorted(told.items())}"


@pytest.mark.parametrize(
    ("how", "trouble", "told"),
    [
        ("error", Trouble.REPORTED, "answers 503: no place left"),
        ("words", Trouble.NO_RESULT, "answers what is not JSON"),
        ("other", Trouble.NO_RESULT, 'answers without {"result": "..."}'),
        ("endless", Trouble.NO_RESULT, "answers what is not JSON"),
    ],
)
async def test_a_bad_answer_is_an_outcome(
    server: TestServer, tmp_path: Path, how: str, trouble: Trouble, told: str
) -> None:
    outcome = await run(remote(server.make_url(f"/{how}")), CALL, tmp_path, 60)
    assert outcome.trouble is trouble
    assert told in outcome.reason


async def test_an_answer_has_its_time(server: TestServer, tmp_path: Path) -> None:
    outcome = await run(remote(server.make_url("/never")), CALL, tmp_path, 0.5)
    assert outcome.trouble is Trouble.TIMED_OUT


async def test_nobody_there(server: TestServer, tmp_path: Path) -> None:
    url = server.make_url("/well")
    await server.close()
    assert (await run(remote(url), CALL, tmp_path, 60)).trouble is Trouble.UNREACHABLE
