"""The page on streams: its Python is run, against a run on the real broker."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from odradek_training.position import Position
from odradek_training.server_query import StreamQuery

pytestmark = pytest.mark.kafka
PAGE = Path(__file__).parents[2] / "docs" / "streams.md"


def test_the_examples_do_what_they_say(
    world: Any,
    makes: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tokens = {"samples": [makes.tokens(1, 2, 3)]}
    rewards = [makes.reward(task, sample, float(sample), **tokens) for task in (0, 1) for sample in (0, 1)]
    asyncio.run(world.write(makes.run(), *rewards, makes.finish(4)))
    monkeypatch.chdir(tmp_path)
    for name, value in world.settings.items():
        monkeypatch.setenv(name, value)
    page: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(block, page)
    asyncio.run(page["train"]("r"))
    assert len(re.findall(r"^r/\d/1 0\.707\d* \[1, 2, 3\] \[0, 1, 1\]", capsys.readouterr().out, re.M)) == 2
    asyncio.run(page["train"]("r"))
    assert "r/" not in capsys.readouterr().out, "its checkpoint is behind all groups"
    assert json.loads((tmp_path / "checkpoint.json").read_text())["odradek"]["decided"] == {"r": 2}
    assert sorted(page["train_in_turn"]("r")) == ["r/0", "r/1"]


def test_the_page_names_what_there_is() -> None:
    text = PAGE.read_text()
    for name in [*StreamQuery.model_fields, *Position.model_fields]:
        if name not in ("version", "selection"):
            assert f"`{name}`" in text or f"{name}=" in text, name
