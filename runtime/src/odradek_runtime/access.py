"""Access to the model gateway over HTTP: signed tokens that name the program run whose calls they answer for, and expire.

A token is a JSON Web Token (RFC 7519, HS256). It is made where a program is started and given to nobody else; it is
never in the log. It says all that a gateway must know, so any gateway can answer any call.
"""

import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import jwt
from pydantic import Field, ValidationError

from odradek_runtime.secret_files import write_new
from odradek_schemas.base import Model
from odradek_schemas.codec import explain
from odradek_schemas.messages import Sampling

LEAST_SECRET_BYTES = 32
"""As RFC 7518, section 3.2, asks of HS256."""

_ALGORITHM = "HS256"
_AUDIENCE = "odradek-model-gateway"


class AccessError(Exception):
    """A token or a secret can't be used. One line: what, and what to do."""


class Access(Model):
    """What a token grants: calls of `model` by the program that `program_id` asked for, until `expires`.

    `partition` is the rollout's; `sampling` is what its run wants, whatever the program asks; `model_seconds` is the
    deadline of one call.
    """

    scope: Literal["program"] = "program"
    run_id: str
    rollout_id: str
    program_id: str
    partition: int = Field(ge=0)
    model: str
    sampling: Sampling = Field(default_factory=Sampling)
    model_seconds: float = Field(gt=0)
    issued: datetime
    expires: datetime


class TrainerAccess(Model):
    """What a trainer's token grants: to say which version of a model's policy is served."""

    scope: Literal["trainer"] = "trainer"
    expires: datetime


class Signer:
    """Makes tokens, and reads them back."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < LEAST_SECRET_BYTES:
            raise AccessError(
                f"the secret is {len(secret)} bytes long; at least {LEAST_SECRET_BYTES} are needed"
            )
        self._secret = secret

    @classmethod
    def from_file(cls, path: Path) -> "Signer":
        """The signer with the secret in a file.

        Raises:
            AccessError: the file can't be read, or holds too little.
        """
        try:
            return cls(path.read_bytes().strip())
        except OSError as error:
            raise AccessError(f"secret file {path}: {error.strerror}") from error

    def sign(self, access: Access | TrainerAccess) -> str:
        """The token for `access`."""
        claims = access.model_dump(mode="json", exclude_none=True, exclude={"expires"})
        return jwt.encode(
            {**claims, "aud": _AUDIENCE, "exp": access.expires}, self._secret, algorithm=_ALGORITHM
        )

    def read(self, token: str) -> Access | TrainerAccess:
        """What a token grants.

        Raises:
            AccessError: it is not signed with this secret, has expired, or says what this version can't read.
        """
        try:
            claims = jwt.decode(
                token, self._secret, algorithms=[_ALGORITHM], audience=_AUDIENCE, options={"require": ["exp"]}
            )
        except jwt.ExpiredSignatureError as error:
            raise AccessError("the token has expired: the program's time is up") from error
        except (jwt.InvalidTokenError, UnicodeError) as error:
            raise AccessError(f"the token is none that this gateway knows ({error})") from error
        expires = datetime.fromtimestamp(claims.pop("exp"), UTC)
        del claims["aud"]
        kind = TrainerAccess if claims.get("scope") == "trainer" else Access
        try:
            return kind.model_validate({**claims, "expires": expires}, extra="ignore")
        except ValidationError as error:
            raise AccessError(f"the token can't be read: {explain(error)}") from error


def create_secret(path: Path) -> None:
    """Write a new secret, readable by its owner alone. Raises FileExistsError: there is one."""
    write_new(path, secrets.token_hex(LEAST_SECRET_BYTES).encode())
