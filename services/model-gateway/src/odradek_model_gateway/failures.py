"""What went wrong with a call, as a typed failure."""

import re

import aiohttp
import orjson

from odradek_model_gateway.retries import read_retry_after
from odradek_schemas.failures import Failure, FailureKind, Stage

_RETRIED = frozenset(
    {FailureKind.RATE_LIMITED, FailureKind.UPSTREAM_UNAVAILABLE, FailureKind.MALFORMED_REPLY}
)
LONGEST_EXCERPT = 400

# What OpenAI, vLLM, SGLang, llama.cpp and Anthropic say, in this order.
_OVERFLOW_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_OVERFLOW_TEXT = re.compile(
    r"maximum context length|longer than the maximum model length|model's context length"
    r"|exceeds? the (?:available )?context size|prompt is too long",
    re.IGNORECASE,
)

# OpenAI, OpenRouter (402) and Anthropic on an account without money; OpenAI and Azure on a prompt that they won't answer.
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_error"})
_QUOTA_TEXT = re.compile(r"credit balance is too low|exceeded your current quota", re.IGNORECASE)
_FILTER_CODES = frozenset({"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"})

_HINTS = {
    402: "the account of this model's API key has no money left",
    401: "check the API key (api_key_env of this model's settings)",
    403: "the API key may not use this model (api_key_env and model in its settings)",
    404: "check base_url (it ends with /v1 at most servers) and model in the model's settings",
}


# Too many requests; no capacity; what Anthropic says when it is overloaded.
_OVERLOADED = frozenset({429, 503, 529})


class CallError(Exception):
    """One try failed. `retry_after`: seconds that the upstream asked to wait, None when it did not.

    `overloaded`: it said that there are too many calls.
    """

    def __init__(
        self, kind: FailureKind, message: str, retry_after: float | None = None, overloaded: bool = False
    ) -> None:
        super().__init__(message)
        self.failure = Failure(kind=kind, stage=Stage.MODEL, message=message)
        self.retry_after = retry_after
        self.overloaded = overloaded

    @property
    def retried(self) -> bool:
        """Whether the same request may succeed a moment later."""
        return self.failure.kind in _RETRIED


def from_status(status: int, retry_after: str | None, body: bytes, now: float) -> CallError:
    """The failure that an HTTP status other than 200 means.

    Args:
        retry_after: the header of that name.
        now: seconds since the epoch, for a `retry_after` that is a date.
    """
    codes, text = _read_error(body)
    kind = _kind(status, codes, text)
    hint = _HINTS.get(status)
    message = f"HTTP {status}: {text or 'no explanation'}{f'; {hint}' if hint else ''}"
    overloaded = status in _OVERLOADED and kind in _RETRIED
    return CallError(kind, message, read_retry_after(retry_after, now), overloaded)


def from_exception(error: Exception) -> CallError:
    """The failure that an exception of the HTTP client means."""
    told = str(error) or type(error).__name__
    if isinstance(error, aiohttp.ServerDisconnectedError):
        told = "the connection was closed before an answer"
    return CallError(FailureKind.UPSTREAM_UNAVAILABLE, told)


def _kind(status: int, codes: set[str], text: str) -> FailureKind:
    if codes & _OVERFLOW_CODES or (status in (400, 413, 422, 500) and _OVERFLOW_TEXT.search(text)):
        return FailureKind.CONTEXT_OVERFLOW
    if status == 402 or codes & _QUOTA_CODES or (status < 500 and _QUOTA_TEXT.search(text)):
        return FailureKind.QUOTA_EXHAUSTED
    if codes & _FILTER_CODES:
        return FailureKind.CONTENT_FILTERED
    if status in (401, 403):
        return FailureKind.AUTH
    if status == 429:
        return FailureKind.RATE_LIMITED
    if status >= 500 or status in (408, 409, 425):
        return FailureKind.UPSTREAM_UNAVAILABLE
    return FailureKind.INVALID_REQUEST


def _read_error(body: bytes) -> tuple[set[str], str]:
    """Codes and text of an error body: OpenAI's shape, vLLM's older flat one, FastAPI's `detail`, or plain text."""
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        return set(), _excerpt(body.decode(errors="replace"))
    error = content.get("error", content) if isinstance(content, dict) else content
    if not isinstance(error, dict):
        return set(), _excerpt(str(error))
    codes = {str(error[key]) for key in ("code", "type") if error.get(key)}
    return codes, _excerpt(str(error.get("message") or error.get("detail") or orjson.dumps(error).decode()))


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_EXCERPT else f"{line[:LONGEST_EXCERPT]}…"
