"""Where commands write: what was asked for on stdout, all else on stderr."""

import json
import os
import sys
from typing import Any

from rich.console import Console

_PIPED_WIDTH = 160


def out() -> Console:
    """Stdout; wide where nobody's window is the measure, so that programs find whole lines."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(file=sys.stdout, highlight=False, width=_PIPED_WIDTH if piped else None)


def err() -> Console:
    return Console(file=sys.stderr, highlight=False)


def say(text: str) -> None:
    """One line of what was asked for, on stdout, as it is."""
    out().print(text, markup=False, soft_wrap=True)


def note(text: str) -> None:
    """One line besides, on stderr."""
    err().print(text, markup=False, soft_wrap=True)


def print_line(value: Any) -> None:
    """One JSON document on a line of stdout, at once."""
    print(json.dumps(value, ensure_ascii=False), flush=True)


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False))
