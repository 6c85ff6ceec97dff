"""Sealed boxes: whoever has the public key can seal, only the private key opens.

Source: libsodium `crypto_box_seal` (X25519, XSalsa20-Poly1305), through PyNaCl. Text is base64 on the wire.
"""

import json
from pathlib import Path

from nacl.encoding import Base64Encoder
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, PublicKey, SealedBox

from odradek_schemas.base import JsonObject


class SealError(Exception):
    """A key can't be read, or a box not be opened with it."""


class Sealer:
    """Seals JSON objects with a public key."""

    def __init__(self, public_key: bytes) -> None:
        self._box = SealedBox(PublicKey(public_key, encoder=Base64Encoder))

    @classmethod
    def from_file(cls, path: Path) -> "Sealer":
        return cls(_read_key(path))

    def seal(self, content: JsonObject) -> str:
        return self._box.encrypt(json.dumps(content).encode(), encoder=Base64Encoder).decode()


class Opener:
    """Opens what was sealed for its private key."""

    def __init__(self, private_key: bytes) -> None:
        self._box = SealedBox(PrivateKey(private_key, encoder=Base64Encoder))

    @classmethod
    def from_file(cls, path: Path) -> "Opener":
        return cls(_read_key(path))

    def open(self, sealed: str) -> JsonObject:
        """Open a box.

        Raises:
            SealError: it was sealed for another key, or is damaged.
        """
        try:
            content: JsonObject = json.loads(self._box.decrypt(sealed.encode(), encoder=Base64Encoder))
        except (CryptoError, ValueError) as error:
            raise SealError(f"the sealed box can't be opened with this private key: {error}") from error
        return content


def create_keys(public_file: Path, private_file: Path) -> None:
    """Write a new pair of keys, each file readable by its owner alone."""
    key = PrivateKey.generate()
    for path, content in (
        (private_file, key.encode(Base64Encoder)),
        (public_file, key.public_key.encode(Base64Encoder)),
    ):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_bytes(content)


def _read_key(path: Path) -> bytes:
    try:
        return path.read_bytes().strip()
    except OSError as error:
        raise SealError(
            f"sealing key {path}: {error.strerror}; `odradek up` creates keys for a local stack"
        ) from error
