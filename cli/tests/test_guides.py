"""The commands that the documentation shows are commands."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from odradek_cli.errors import Exit

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/metrics.md", "docs/rescoring.md", "docs/nemo-gym.md")
COMMANDS = sorted(
    {line for page in PAGES for line in re.findall(r"^\$ odradek (.*)$", (ROOT / page).read_text(), re.M)}
)
NEEDS_NO_STACK = ("up", "down", "status", "list", "doctor", "validate")


@pytest.mark.parametrize("command", [c for c in COMMANDS if not c.startswith(NEEDS_NO_STACK)])
def test_the_guides_commands_are_understood(odradek: Any, command: str) -> None:
    """They come as far as a stack, or a file, that is not there."""
    done = odradek(*shlex.split(command, comments=True))
    assert done.exit_code in (Exit.NO_STACK, Exit.INVALID_INPUT), done.output
    if done.exit_code == Exit.INVALID_INPUT:
        assert "No such file or directory" in done.stderr
