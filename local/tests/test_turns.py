"""Stacks that start together choose their ports one after another."""

import asyncio
from pathlib import Path

import pytest

from odradek_local import ports
from odradek_local.ports import turn_to_choose


@pytest.fixture(autouse=True)
def turns_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Not those of the stacks that other programs of this machine start meanwhile."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


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


async def test_a_turn_that_never_comes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "TURN_WITHIN_S", 0.1)
    async with turn_to_choose():
        with pytest.raises(TimeoutError, match="Another local stack has been starting"):
            async with turn_to_choose():
                raise AssertionError("two have the turn")
