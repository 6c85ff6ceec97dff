"""From the body of an upstream's response to what the model said."""

import orjson

from odradek.dialects.core import Dialect, DialectError, Reply
from odradek_model_gateway.failures import CallError
from odradek_schemas.failures import FailureKind


def read_reply(body: bytes, call_id: str, dialect: Dialect) -> Reply:
    """Read a 200's body. Unknown fields are ignored; null is the same as left out.

    Raises:
        CallError: not JSON, cut short, without a reply, or not of the dialect's shape (malformed_reply).
    """
    try:
        response = orjson.loads(body)
        if not isinstance(response, dict):
            raise _malformed("it is not an object")
        return dialect.read_reply(response, call_id)
    except orjson.JSONDecodeError as error:
        raise _malformed(f"{error} (after {len(body)} bytes)") from error
    except DialectError as error:
        raise _malformed(str(error)) from error


def _malformed(reason: str) -> CallError:
    return CallError(FailureKind.MALFORMED_REPLY, f"the response can't be read: {reason}")
