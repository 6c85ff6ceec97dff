"""`--set key=value`: settings of an environment, as a person types them."""

import json
from collections.abc import Iterable

from odradek_cli.errors import CliError, Exit
from odradek_schemas.base import JsonObject


def read_assignments(assignments: Iterable[str]) -> JsonObject:
    """`key=value` each; a value that is JSON is taken as JSON, any other as text. The last of a key counts.

    Raises:
        CliError: one has no `=` or no key.
    """
    settings: JsonObject = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            raise CliError(
                f"--set {assignment}: is no key=value",
                Exit.INVALID_INPUT,
                "for example --set judge_model=smollm2",
            )
        try:
            settings[key.strip()] = json.loads(value)
        except ValueError:
            settings[key.strip()] = value
    return settings
