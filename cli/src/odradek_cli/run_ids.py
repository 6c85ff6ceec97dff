"""Ids of runs: short, readable, and never the same twice."""

import re
import secrets
from datetime import datetime

from odradek_schemas.ids import check_run_id

_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
_MOST_NAME_CHARACTERS = 40


def new_run_id(environment: str, at: datetime) -> str:
    """`<environment>-<month and day>-<time>-<two random letters>`, such as `mcqa-1129-194512-x7`."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", environment)[:_MOST_NAME_CHARACTERS]
    tail = "".join(secrets.choice(_LETTERS) for _ in range(2))
    return check_run_id(f"{name}-{at:%m%d-%H%M%S}-{tail}")
