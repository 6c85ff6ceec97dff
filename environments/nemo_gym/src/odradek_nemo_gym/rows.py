"""Rows of a resources server's data: what the agent's side may know, and the rest, which is sealed whole."""

from collections.abc import Iterable

from pydantic import JsonValue

from odradek import JsonObject, RowError, TaskRow, ToolSpec
from odradek.dialects.core import DialectError
from odradek.dialects.nemo_gym import PARAMETERS, is_gym_row, read_parameters

OWN_ROUTES = frozenset(
    {"seed_session", "verify", "close_session", "aggregate_metrics", "reverify_mode", "mcp"}
)
"""A server's own: a model that could call these as tools would grade itself."""

RECORDED = frozenset(
    {
        "response",
        "reward",
        "reward_components",
        "mask_sample",
        "failure_kind",
        "failure_reason",
        "ng_trajectory",
    }
)
"""What a recorded rollout has beside its task."""

_NESTED = ("task_data", "verifier_metadata")
_IDS = ("uuid", "id")


def split(row: JsonObject, public: Iterable[str]) -> TaskRow:
    """Read a row. Its prompt, its tools and its `public` fields are open; the row as it stands is the sealed answer.

    Raises:
        RowError: it is no NeMo Gym row, has no prompt, or offers one of the server's own routes as a tool.
    """
    if not is_gym_row(row):
        raise RowError(PARAMETERS, "is missing: this environment plays NeMo Gym's rows")
    try:
        request = read_parameters(row)
    except DialectError as error:
        raise RowError(error.field, error.reason) from error
    if not request.messages:
        raise RowError(f"{PARAMETERS}.input", "is empty: there is no prompt")
    _check_tools(request.tools)
    return TaskRow(
        messages=request.messages,
        tools=request.tools,
        task={name: value for name in public if (value := field(row, name)) is not None},
        answer={"row": {name: value for name, value in row.items() if name not in RECORDED}},
        sampling=request.sampling,
        id=next((str(row[name]) for name in _IDS if isinstance(row.get(name), str | int)), None),
    )


def tool_names(row: JsonObject) -> list[str]:
    """The names of the tools that a row offers. Raises DialectError."""
    return [tool.function.name for tool in read_parameters(row).tools]


def field(row: JsonObject, name: str) -> JsonValue:
    """A task's field, wherever the row keeps it; None: it has no such field."""
    if name in row:
        return row[name]
    nested = (row.get(where) for where in _NESTED)
    return next((found[name] for found in nested if isinstance(found, dict) and name in found), None)


def _check_tools(tools: list[ToolSpec]) -> None:
    for tool in tools:
        if tool.function.name in OWN_ROUTES:
            raise RowError(
                f"{PARAMETERS}.tools", f"{tool.function.name!r} is a route of the server's own, not a tool"
            )
