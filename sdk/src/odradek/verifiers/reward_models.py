"""Reward models: a server that scores a conversation over HTTP.

What `verify` learns here is not in the log, unlike what a judge says: a re-score asks again. A score that could not be had
makes the trajectory `Unscored`, masked with the kind of what failed, and never 0.
"""

import http.client
import json
import math
import os
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from pydantic import JsonValue

from odradek.judging import Unscored
from odradek.redaction import without
from odradek_schemas.base import JsonObject
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.messages import Message

MOST_SECONDS = 8.0
_MOST_BYTES = 1 << 20
_CHUNK = 1 << 16
_SHOWN = 200
FIRST_PAUSE_SECONDS = 0.1
_KINDS: dict[int, FailureKind] = {
    HTTPStatus.UNAUTHORIZED: FailureKind.AUTH,
    HTTPStatus.FORBIDDEN: FailureKind.AUTH,
    HTTPStatus.REQUEST_TIMEOUT: FailureKind.MODEL_DEADLINE,
    HTTPStatus.TOO_MANY_REQUESTS: FailureKind.RATE_LIMITED,
}


@dataclass(frozen=True, slots=True)
class RewardModel:
    """A server that is sent `{"model", "messages"}` and answers with JSON that holds a number at `score`.

    `score` is a dotted path, such as `data.0.score` (vLLM's `/pooling`: `data.0.data.0`). `seconds` bounds all tries
    together and should lie below the verifier-worker's deadline. `key_variable` names the environment variable that
    holds a bearer token. `body` is sent beside the two fields.
    """

    url: str
    model: str | None = None
    score: str = "score"
    seconds: float = MOST_SECONDS
    tries: int = 3
    key_variable: str | None = None
    body: JsonObject | None = None

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(f"a reward model's url begins with http:// or https://, not {self.url!r}")
        if self.tries < 1 or not self.seconds > 0:
            raise ValueError(
                f"a reward model needs time and at least one try, not {self.seconds} s and {self.tries}"
            )

    def rate(self, messages: Sequence[Message]) -> float:
        """The score of a conversation.

        Raises:
            Unscored: it could not be had; its failure has the kind of the last try's.
        """
        deadline = time.monotonic() + self.seconds
        for left in reversed(range(self.tries)):
            try:
                return self._rate(messages, deadline)
            except Unscored as unscored:
                pause = FIRST_PAUSE_SECONDS * 2 ** (self.tries - 1 - left)
                if not left or not unscored.failure.retried or time.monotonic() + pause >= deadline:
                    raise
                time.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _rate(self, messages: Sequence[Message], deadline: float) -> float:
        try:
            status, content = self._exchange(self._body(messages), deadline)
        except TimeoutError as error:
            raise _unscored(
                FailureKind.MODEL_DEADLINE, f"{self.url}: no score in {self.seconds} s"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise _unscored(FailureKind.UPSTREAM_UNAVAILABLE, f"{self.url}: {error!r}") from error
        if status != HTTPStatus.OK:
            raise _unscored(_kind(status), f"{self.url} answered {status}: {content[:_SHOWN]!r}")
        return self._score(content)

    def _exchange(self, body: bytes, deadline: float) -> tuple[int, bytes]:
        """Status and body of the reply. Redirections are not followed: the key is for this server alone."""
        parts = urlsplit(self.url)
        connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        with closing(connect(parts.netloc, timeout=_left(deadline))) as connection:
            connection.connect()
            channel = connection.sock
            target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
            connection.request("POST", target, body, self._headers())
            channel.settimeout(_left(deadline))
            response = connection.getresponse()
            content = b""
            while chunk := response.read1(_CHUNK):
                content += chunk
                if len(content) > _MOST_BYTES:
                    raise _unscored(
                        FailureKind.MALFORMED_REPLY, f"{self.url} answered more than {_MOST_BYTES} bytes"
                    )
                channel.settimeout(_left(deadline))
            return response.status, without(content, self._key())

    def _body(self, messages: Sequence[Message]) -> bytes:
        said = [message.model_dump(mode="json", exclude_none=True) for message in messages]
        named: JsonObject = {} if self.model is None else {"model": self.model}
        return json.dumps({**(self.body or {}), **named, "messages": said}).encode()

    def _headers(self) -> dict[str, str]:
        key = self._key()
        bearer = {} if key is None else {"Authorization": f"Bearer {key}"}
        return {"Content-Type": "application/json", **bearer}

    def _key(self) -> str | None:
        return None if self.key_variable is None else _key(self.key_variable)

    def _score(self, content: bytes) -> float:
        try:
            value: JsonValue = json.loads(content)
            for step in self.score.split("."):
                value = value[int(step)] if isinstance(value, list) else value[step]  # type: ignore[index]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise _unscored(
                FailureKind.MALFORMED_REPLY, f"{self.url}: no {self.score!r} in the reply: {error}"
            ) from error
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise _unscored(
                FailureKind.MALFORMED_REPLY, f"{self.url}: {self.score!r} is {value!r}, no finite number"
            )
        return float(value)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _kind(status: int) -> FailureKind:
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return FailureKind.UPSTREAM_UNAVAILABLE
    return _KINDS.get(status, FailureKind.INVALID_REQUEST)


def _key(variable: str) -> str:
    key = os.environ.get(variable)
    if not key:
        raise _unscored(
            FailureKind.AUTH, f"the environment variable {variable} holds no key for the reward model"
        )
    return key


def _unscored(kind: FailureKind, message: str) -> Unscored:
    return Unscored(Failure(kind=kind, stage=Stage.VERIFY, message=message))
