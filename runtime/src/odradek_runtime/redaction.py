"""Logs without secrets: whatever a library or a stranger puts into a message, known secrets are blotted out of it.

It is the last line: nothing of ours puts them there. Known are the secrets of the environment, by the names of the
variables, and passwords in addresses. What comes from a file is never put into a message, and not known here.
"""

import json
import logging
import re
from collections.abc import Iterable, Mapping

HIDDEN = "***"
LEAST_CHARACTERS = 8
"""Shorter values would blot out words."""

_SECRET = re.compile(r"KEY|SECRET|PASSWORD|PASSWD|TOKEN|CREDENTIAL", re.IGNORECASE)
_NAMES_ONLY = re.compile(r"_(FILE|PATH|DIR|ENV|URL|URI)$", re.IGNORECASE)
_IN_ADDRESS = re.compile(r"://[^/@\s]*?:([^/@\s]+)@")


def secrets_of(environment: Mapping[str, str]) -> frozenset[str]:
    """The values in an environment that nobody may read in a log."""
    named = {
        value.strip()
        for name, value in environment.items()
        if _SECRET.search(name) and not _NAMES_ONLY.search(name)
    }
    in_addresses = {found for value in environment.values() for found in _IN_ADDRESS.findall(value)}
    return frozenset(value for value in named | in_addresses if len(value) >= LEAST_CHARACTERS)


class Redacting(logging.Formatter):
    """What `inner` makes of a record, less the secrets, plain or as JSON and Python write them."""

    def __init__(self, inner: logging.Formatter, secrets: Iterable[str]) -> None:
        super().__init__()
        self._inner = inner
        written = {
            form for secret in secrets for form in (secret, json.dumps(secret)[1:-1], repr(secret)[1:-1])
        }
        longest_first = sorted(written, key=len, reverse=True)
        self._secrets = re.compile("|".join(map(re.escape, longest_first))) if written else None

    def format(self, record: logging.LogRecord) -> str:
        line = self._inner.format(record)
        return self._secrets.sub(HIDDEN, line) if self._secrets else line
