"""A server that is not there yet is waited for, as long as is asked."""

import asyncio
import socket

from strict_server import CounterServer, serving

from odradek_nemo_gym.client import Client


async def test_a_server_that_comes_later_is_answered_by() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    asking = asyncio.create_task(
        Client().post(f"http://127.0.0.1:{port}/close_session", {}, {}, patience=30.0)
    )
    await asyncio.sleep(0)
    async with serving(CounterServer(), port):
        answer = await asking
    assert answer.text == '{"closed": true}'
