"""Models as `odradek up --model` names them: `NAME=URL[,model=ID][,key=VARIABLE][,tool_calls=HOW]`."""

import os
import re
from typing import Any
from urllib.parse import urlsplit

from odradek_cli.errors import CliError, Exit

_OPTIONS = {"model": "model", "key": "api_key_env", "tool_calls": "tool_calls"}
_TOOL_CALLS = ("native", "json_schema")


def parse_model(text: str) -> tuple[str, dict[str, Any]]:
    """The model's name, and its upstream as the stack's settings have it.

    Raises:
        CliError: it does not read so, or the key's variable is not set.
    """
    name, _, rest = text.partition("=")
    url, *options = rest.split(",")
    if not re.fullmatch(r"[A-Za-z0-9][\w.:/-]*", name) or urlsplit(url).scheme not in ("http", "https"):
        raise _bad(text, "expected NAME=URL, with an http(s) URL")
    upstream: dict[str, Any] = {"base_url": url, "model": name}
    for option in options:
        key, separator, value = option.partition("=")
        if key not in _OPTIONS or not separator or not value:
            raise _bad(text, f"{option!r} is none of model=, key=, tool_calls=")
        upstream[_OPTIONS[key]] = value
    _check(text, upstream)
    return name, upstream


def _check(text: str, upstream: dict[str, Any]) -> None:
    if upstream.get("tool_calls", "native") not in _TOOL_CALLS:
        raise _bad(text, f"tool_calls is {' or '.join(_TOOL_CALLS)}")
    variable = upstream.get("api_key_env")
    if variable and not os.environ.get(variable):
        raise _bad(text, f"the environment variable {variable} is not set")


def _bad(text: str, why: str) -> CliError:
    return CliError(
        f"--model {text}: {why}",
        Exit.USAGE,
        "for example --model gpt=https://api.openai.com/v1,model=gpt-5-mini,key=OPENAI_API_KEY",
    )
