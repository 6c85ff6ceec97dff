"""Which failure a status means."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek_model_gateway.failures import from_status
from odradek_schemas.failures import FailureKind

OVERFLOW = [
    (400, {"error": {"message": "too long", "code": "context_length_exceeded"}}),
    (400, {"object": "error", "message": "This model's maximum context length is 4096 tokens. However, ..."}),
    (
        400,
        {"error": {"message": "The decoder prompt (length 9) is longer than the maximum model length of 8."}},
    ),
    (
        400,
        {
            "error": {
                "code": 400,
                "type": "exceed_context_size_error",
                "message": "request (9 tokens) exceeds",
            }
        },
    ),
    (500, {"error": {"message": "the request exceeds the available context size. try increasing it"}}),
    (
        400,
        {"error": {"message": "The input (9 tokens) is longer than the model's context length (8 tokens)."}},
    ),
]


@pytest.mark.parametrize(("status", "body"), OVERFLOW)
def test_a_context_overflow_is_known_by_code_or_words(status: int, body: object) -> None:
    error = from_status(status, None, orjson.dumps(body), now=0.0)
    assert (error.failure.kind, error.retried) == (FailureKind.CONTEXT_OVERFLOW, False)


@pytest.mark.parametrize(
    ("status", "kind", "retried"),
    [
        (429, FailureKind.RATE_LIMITED, True),
        (500, FailureKind.UPSTREAM_UNAVAILABLE, True),
        (503, FailureKind.UPSTREAM_UNAVAILABLE, True),
        (408, FailureKind.UPSTREAM_UNAVAILABLE, True),
        (400, FailureKind.INVALID_REQUEST, False),
        (401, FailureKind.AUTH, False),
        (402, FailureKind.QUOTA_EXHAUSTED, False),
        (403, FailureKind.AUTH, False),
        (404, FailureKind.INVALID_REQUEST, False),
        (422, FailureKind.INVALID_REQUEST, False),
        (302, FailureKind.INVALID_REQUEST, False),
    ],
)
def test_the_kind_follows_the_status(status: int, kind: FailureKind, retried: bool) -> None:
    error = from_status(status, None, b'{"error": {"message": "no"}}', now=0.0)
    assert (error.failure.kind, error.retried) == (kind, retried)
    assert error.failure.message.startswith(f"HTTP {status}: no")


@pytest.mark.parametrize(("status", "hint"), [(401, "api_key_env"), (403, "api_key_env"), (404, "base_url")])
def test_a_mistake_in_the_settings_names_the_setting(status: int, hint: str) -> None:
    assert hint in from_status(status, None, b"", now=0.0).failure.message


def test_retry_after_is_kept() -> None:
    assert from_status(429, "7", b"", now=0.0).retry_after == 7.0


@given(st.integers(300, 599), st.binary())
def test_no_body_breaks_the_reader_and_messages_stay_short(status: int, body: bytes) -> None:
    assert 0 < len(from_status(status, None, body, now=0.0).failure.message) < 600


@pytest.mark.parametrize(
    "body", [b"null", b"[1]", b'"busy"', b'{"error": "busy"}', b'{"detail": [{"loc": 1}]}']
)
def test_odd_error_bodies_are_read(body: bytes) -> None:
    assert from_status(500, None, body, now=0.0).failure.kind == FailureKind.UPSTREAM_UNAVAILABLE
