"""The page's examples do what they say, one after the other."""

import re
from pathlib import Path

import pytest

from odradek import verifiers

PAGE = Path(__file__).parents[3] / "docs" / "verifiers.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_the_examples_run():
    names = {"__name__": "examples"}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"{PAGE.name}, example {number + 1}", "exec"), names)


def test_each_block_has_its_place_on_the_page():
    folder = Path(verifiers.__file__).parent
    modules = {path.stem for path in folder.iterdir() if not path.stem.startswith("_")} - {"libraries"}
    missing = [name for name in sorted(modules) if f"`{name}`" not in PAGE.read_text()]
    assert not missing
    examples = "\n".join(BLOCKS)
    assert not [
        name
        for name in sorted(modules - {"verdicts"})
        if f"odradek.verifiers.{name} " not in examples and f"import {name}" not in examples
    ]


@pytest.mark.parametrize("anchor", sorted(set(re.findall(r"\]\(#([\w-]+)\)", PAGE.read_text()))))
def test_links_within_the_page_lead_somewhere(anchor):
    heads = [
        head.lower().replace(" ", "-") for head in re.findall(r"^## (.+)$", PAGE.read_text(), re.MULTILINE)
    ]
    assert anchor in heads
