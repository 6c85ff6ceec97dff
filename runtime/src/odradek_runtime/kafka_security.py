"""How Kafka's clients prove who they are and whom they speak to: TLS and SASL, from settings.

Mechanisms: PLAIN (RFC 4616), SCRAM (RFC 5802, 7677), OAUTHBEARER (RFC 7628, KIP-255) with a token that somebody else
keeps fresh in a file, and MSK's IAM, which is OAUTHBEARER with a token that is signed here.
"""

import ssl
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from odradek_runtime.kafka_tokens import FileTokens, MskTokens

_PREFIX = "ODRADEK_KAFKA_"
_WITH_PASSWORD = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_OF_A_LOGIN = ("username", "password", "password_file", "token_file")
_OF_TLS = ("ca_file", "certificate_file", "key_file", "key_password_file")


class KafkaSecurity(BaseSettings):
    """TLS and SASL of a deployment's Kafka. Each is an environment variable with the prefix `ODRADEK_KAFKA_`.

    One that is empty is not set. Files are read when a client is made, so that renewed certificates and passwords count for the next one; tokens at each login.
    """

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, env_ignore_empty=True, extra="ignore", frozen=True, hide_input_in_errors=True
    )

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        default="PLAINTEXT", description="With TLS: SSL, SASL_SSL; with a login: SASL_PLAINTEXT, SASL_SSL."
    )
    ca_file: Path | None = Field(
        default=None, description="PEM of the authorities that vouch for the brokers; None: the system's."
    )
    certificate_file: Path | None = Field(
        default=None, description="PEM of this client's certificate and its chain, where brokers ask for one."
    )
    key_file: Path | None = Field(
        default=None, description="PEM of its key, where that is not in the same file."
    )
    key_password_file: Path | None = Field(default=None, description="What opens the key.")
    sasl_mechanism: (
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"] | None
    ) = None
    username: str | None = Field(default=None, description="Of PLAIN and SCRAM.")
    password: SecretStr | None = None
    password_file: Path | None = Field(default=None, description="Instead of the password itself.")
    token_file: Path | None = Field(
        default=None, description="OAUTHBEARER's token: read at each login, so keep it fresh."
    )
    aws_region: str | None = Field(default=None, description="Of the cluster, with AWS_MSK_IAM.")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        problems = [*self._sasl_problems(), *self._tls_problems()]
        if problems:
            raise ValueError("; ".join(problems))
        self.client()
        return self

    @property
    def tls(self) -> bool:
        return self.security_protocol in ("SSL", "SASL_SSL")

    @property
    def sasl(self) -> bool:
        return self.security_protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    def client(self) -> dict[str, Any]:
        """The arguments that any client of aiokafka takes.

        Raises:
            ValueError: a file can't be read, or holds something else.
        """
        options: dict[str, Any] = {"security_protocol": self.security_protocol}
        if self.tls:
            options["ssl_context"] = self._context()
        if self.sasl:
            options |= self._login()
        return options

    def _login(self) -> dict[str, Any]:
        if self.sasl_mechanism in _WITH_PASSWORD:
            return {
                "sasl_mechanism": self.sasl_mechanism,
                "sasl_plain_username": self.username,
                "sasl_plain_password": self._password(),
            }
        return {"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": self._tokens()}

    def _tokens(self) -> FileTokens | MskTokens:
        if self.token_file is not None:
            _read("TOKEN_FILE", self.token_file)
            return FileTokens(self.token_file)
        return MskTokens(str(self.aws_region))

    def _password(self) -> str:
        if self.password_file is not None:
            return _read("PASSWORD_FILE", self.password_file)
        return self.password.get_secret_value() if self.password else ""

    def _context(self) -> ssl.SSLContext:
        files = (self.ca_file, self.certificate_file, self.key_file, self.key_password_file)
        return _tls_context(files, tuple(path and _changed(path) for path in files))

    def _sasl_problems(self) -> Iterable[str]:
        if self.sasl != (self.sasl_mechanism is not None):
            yield f"{_PREFIX}SASL_MECHANISM goes with {_PREFIX}SECURITY_PROTOCOL=SASL_SSL or SASL_PLAINTEXT: set both or neither"
        elif not self.sasl:
            if given := next((name for name in _OF_A_LOGIN if getattr(self, name)), None):
                yield f"{_PREFIX}{given.upper()} goes with {_PREFIX}SECURITY_PROTOCOL=SASL_SSL or SASL_PLAINTEXT, and a {_PREFIX}SASL_MECHANISM"
        elif self.sasl_mechanism in _WITH_PASSWORD:
            if self.username is None or (self.password is None) == (self.password_file is None):
                yield f"{self.sasl_mechanism} needs {_PREFIX}USERNAME, and either {_PREFIX}PASSWORD or {_PREFIX}PASSWORD_FILE"
        elif self.sasl_mechanism == "OAUTHBEARER" and self.token_file is None:
            yield f"OAUTHBEARER needs {_PREFIX}TOKEN_FILE, a file that somebody keeps fresh"
        elif self.sasl_mechanism == "AWS_MSK_IAM" and (
            self.aws_region is None or self.token_file or not self.tls
        ):
            yield f"AWS_MSK_IAM needs {_PREFIX}AWS_REGION and {_PREFIX}SECURITY_PROTOCOL=SASL_SSL, and no {_PREFIX}TOKEN_FILE"

    def _tls_problems(self) -> Iterable[str]:
        given = [name for name in _OF_TLS if getattr(self, name)]
        if given and not self.tls:
            yield f"{_PREFIX}{given[0].upper()} goes with {_PREFIX}SECURITY_PROTOCOL=SSL or SASL_SSL"
        if self.key_file and not self.certificate_file:
            yield f"{_PREFIX}KEY_FILE goes with {_PREFIX}CERTIFICATE_FILE"


PLAINTEXT = KafkaSecurity.model_construct()
"""Neither TLS nor a login, whatever the environment says: a local stack's."""


def _read(variable: str, path: Path) -> str:
    """A secret's file; the newline that editors put at its end is none of it."""
    try:
        content = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{_PREFIX}{variable}={path} can't be read: {error}") from None
    if not content:
        raise ValueError(f"{_PREFIX}{variable}={path} is empty")
    return content


def _changed(path: Path) -> int:
    """When a file last changed; 0 where it can't be looked at, which reading it tells."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=8)
def _tls_context(files: tuple[Path | None, ...], _changed_at: tuple[int | None, ...]) -> ssl.SSLContext:
    """A context for these files as they are now. Made once: reading the system's authorities takes 30 ms."""
    ca, certificate, key, key_password = files
    password = None if key_password is None else _read("KEY_PASSWORD_FILE", key_password)
    try:
        context = ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise ValueError(f"{_PREFIX}CA_FILE={ca}: {_why(error)}") from None
    if certificate is not None:
        try:
            context.load_cert_chain(certificate, key, password or "")
        except OSError as error:
            place = certificate if key is None else f"{certificate} with {_PREFIX}KEY_FILE={key}"
            raise ValueError(f"{_PREFIX}CERTIFICATE_FILE={place}: {_why(error)}") from None
    return context


def _why(error: OSError) -> str:
    """SSLError is an OSError whose text names OpenSSL's source; a file that is no PEM has no better word."""
    if isinstance(error, ssl.SSLError):
        return f"it is not PEM, the parts don't fit each other, or the key's password is wrong ({error.reason or error})"
    return error.strerror or str(error)
