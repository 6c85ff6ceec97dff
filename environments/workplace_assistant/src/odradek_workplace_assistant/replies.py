"""What tools answer: one JSON object with the field `output`, as NeMo Gym's server writes it."""

import json
from collections.abc import Sequence

from odradek import ToolError, ToolResult
from odradek_workplace_assistant.tables import Row


class Refused(ToolError):
    """The call changed nothing. The model reads the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(_written(reason))
        self.reason = reason


def told(output: object) -> ToolResult:
    """What the model gets to read of `output`."""
    return ToolResult(_written(output))


def paged(name: str, found: Sequence[Row], page: int, page_size: int) -> dict[str, object]:
    """One page of `found`, and where it is; a page that is not there counts as the nearest.

    Raises:
        Refused: pages can't have that size.
    """
    if page_size < 1:
        raise Refused("page_size must be 1 or more.")
    pages = -(-len(found) // page_size)
    page = max(1, min(page, pages))
    begin = (page - 1) * page_size
    place = {f"total_{name}": len(found), "page": page, "page_size": page_size, "total_pages": pages}
    return {name: found[begin : begin + page_size], "pagination": place}


def _written(output: object) -> str:
    return json.dumps({"output": output}, ensure_ascii=False, separators=(",", ":"))
