"""The examples of the guide to metrics do what they say."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[3] / "docs" / "metrics.md"


def test_the_examples_hold():
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(blocks) == 2
    exec(compile("\n".join(blocks), str(GUIDE), "exec"), {})
