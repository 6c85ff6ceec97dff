"""What a client is told when it gets no answer, in words that its dialect and its SDK understand."""

from dataclasses import dataclass

from odradek_schemas.base import JsonObject
from odradek_schemas.failures import Failure, FailureKind


@dataclass(frozen=True, slots=True)
class Meaning:
    """An HTTP status, and what OpenAI and Anthropic call it (`type` and `code`; `type`)."""

    status: int
    type: str
    code: str | None
    messages_type: str


_INVALID = "invalid_request_error"

MEANINGS = {
    FailureKind.RATE_LIMITED: Meaning(429, "rate_limit_error", "rate_limit_exceeded", "rate_limit_error"),
    FailureKind.QUOTA_EXHAUSTED: Meaning(429, "insufficient_quota", "insufficient_quota", "billing_error"),
    FailureKind.UPSTREAM_UNAVAILABLE: Meaning(503, "server_error", "upstream_unavailable", "api_error"),
    FailureKind.MALFORMED_REPLY: Meaning(502, "server_error", "malformed_reply", "api_error"),
    FailureKind.AUTH: Meaning(403, _INVALID, "upstream_auth", "permission_error"),
    FailureKind.INVALID_REQUEST: Meaning(400, _INVALID, None, _INVALID),
    FailureKind.CONTENT_FILTERED: Meaning(400, _INVALID, "content_filter", _INVALID),
    FailureKind.CONTEXT_OVERFLOW: Meaning(400, _INVALID, "context_length_exceeded", _INVALID),
    FailureKind.UNKNOWN_MODEL: Meaning(404, _INVALID, "model_not_found", "not_found_error"),
    FailureKind.MODEL_DEADLINE: Meaning(504, "server_error", "deadline", "timeout_error"),
}
BAD_TOKEN = Meaning(401, _INVALID, "invalid_api_key", "authentication_error")
ENDED = Meaning(403, _INVALID, "rollout_ended", "permission_error")
NOT_GRANTED = Meaning(403, _INVALID, "not_granted", "permission_error")
NOT_FOUND = Meaning(404, _INVALID, None, "not_found_error")
MARK_TAKEN = Meaning(422, _INVALID, "idempotency_key_in_use", _INVALID)
TOO_MANY = Meaning(429, "rate_limit_error", "too_many_calls", "rate_limit_error")
INTERNAL = Meaning(500, "server_error", "internal_error", "api_error")
NOT_LOGGED = Meaning(503, "server_error", "log_unavailable", "api_error")
OVERFLOW_WORDS = "prompt is too long"
"""By these words programs that speak Messages know that they must compact their conversation."""


class Refusal(Exception):
    """Why there is no answer. `param`: the field of the request that is to blame."""

    def __init__(self, meaning: Meaning, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.meaning = meaning
        self.message = message
        self.param = param

    @property
    def again(self) -> bool:
        """Whether the client should ask again by itself: only where nothing was tried yet."""
        return self.meaning is NOT_LOGGED

    @classmethod
    def of(cls, failure: Failure) -> "Refusal":
        """The same as the failure of a call."""
        overflow = failure.kind is FailureKind.CONTEXT_OVERFLOW
        message = f"{OVERFLOW_WORDS}: {failure.message}" if overflow else failure.message
        return cls(MEANINGS.get(failure.kind, INTERNAL), message)


def openai_error(refusal: Refusal) -> JsonObject:
    """The body of an error as OpenAI's APIs write it."""
    meaning = refusal.meaning
    return {
        "error": {
            "message": refusal.message,
            "type": meaning.type,
            "param": refusal.param,
            "code": meaning.code,
        }
    }


def messages_error(refusal: Refusal) -> JsonObject:
    """The body of an error as Anthropic's API writes it."""
    where = f"{refusal.param}: " if refusal.param else ""
    told: JsonObject = {"type": refusal.meaning.messages_type, "message": f"{where}{refusal.message}"}
    return {"type": "error", "error": told}
