"""Where OAUTHBEARER's tokens come from (KIP-255): a file, or AWS's credentials."""

import asyncio
from pathlib import Path

from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaConnectionError

INSTALL_MSK = "pip install 'odradek-runtime[msk]'"


class FileTokens(AbstractTokenProvider):  # type: ignore[misc]
    """The token that a file holds at each login: a Kubernetes service account's, a sidecar's."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def token(self) -> str:
        """Raises KafkaConnectionError where there is none: the client tries again, as with a broker that is away."""
        try:
            found = (await asyncio.to_thread(self._path.read_text)).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise KafkaConnectionError(f"token file {self._path} can't be read: {error}") from error
        if not found:
            raise KafkaConnectionError(f"token file {self._path} is empty")
        return found


class MskTokens(AbstractTokenProvider):  # type: ignore[misc]
    """Tokens for MSK's IAM: a presigned request that names the caller's AWS identity, good for 15 minutes."""

    def __init__(self, region: str) -> None:
        try:
            from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
        except ImportError as error:
            raise ValueError(f"AWS_MSK_IAM needs AWS's signer: {INSTALL_MSK}") from error
        self._signer = MSKAuthTokenProvider
        self._region = region

    async def token(self) -> str:
        """Raises KafkaConnectionError where AWS's usual places hold no credentials."""
        try:
            signed, _expires = await asyncio.to_thread(self._signer.generate_auth_token, self._region)
        except Exception as error:
            raise KafkaConnectionError(f"no token for MSK: {error}") from error
        return str(signed)
