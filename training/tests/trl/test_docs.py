"""The page's examples are Python, and what they import of ours is there. What they do is tried by `make test-training`."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs/training.md"
OURS = "odradek"


def imported() -> Iterator[tuple[str, str]]:
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(OURS):
                yield from ((str(node.module), alias.name) for alias in node.names)


@pytest.mark.parametrize(("module", "name"), sorted(set(imported())))
def test_what_the_page_imports_is_there(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(module), name)
