"""A server's refusal in words that may be read by anybody: where and why, without the values, which may be the answer."""

from pydantic import JsonValue
from pydantic_core import from_json

from odradek_nemo_gym.client import HttpAnswer

_MOST = 5


def explained(answer: HttpAnswer) -> str:
    """`HTTP 422: body.initial_count: Input should be a valid integer`: of what is not FastAPI's, the status alone."""
    try:
        said = from_json(answer.text)
    except ValueError:
        said = None
    details = said.get("detail") if isinstance(said, dict) else None
    problems = [_problem(detail) for detail in details] if isinstance(details, list) else []
    return ": ".join([f"HTTP {answer.status}", *(["; ".join(problems[:_MOST])] if problems else [])])


def _problem(detail: JsonValue) -> str:
    if not isinstance(detail, dict):
        return "it does not say why"
    where = detail.get("loc")
    path = ".".join(map(str, where)) if isinstance(where, list) else ""
    return f"{path}: {detail.get('msg') or detail.get('type')}"
