"""Stacks that start together choose their ports one after another."""

import asyncio

from odradek_local.ports import turn_to_choose


async def test_only_one_at_a_time_chooses() -> None:
    order: list[str] = []

    async def second() -> None:
        async with turn_to_choose():
            order.append("second")

    async with turn_to_choose():
        waiting = asyncio.create_task(second())
        await asyncio.sleep(0.5)
        order.append("first")
    await asyncio.wait_for(waiting, 60)
    assert order == ["first", "second"]
