"""Where commands write: what was asked for on stdout, all else on stderr."""

import json
import sys
from typing import Any

from rich.console import Console


def out() -> Console:
    return Console(file=sys.stdout, highlight=False, soft_wrap=False)


def err() -> Console:
    return Console(file=sys.stderr, highlight=False)


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False))
