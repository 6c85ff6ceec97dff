"""Sealed boxes: whoever has the public key can seal, only the private key opens.

Source: libsodium `crypto_box_seal` (X25519, XSalsa20-Poly1305), through PyNaCl. Text is base64 on the wire.
"""

import json
from pathlib import Path
from typing import TypeVar

from nacl.encoding import Base64Encoder
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, PublicKey, SealedBox

from odradek_runtime.secret_files import is_filled, write_new
from odradek_schemas.base import JsonObject


class SealError(Exception):
    """A key can't be read, or a box not be opened with it."""


class Sealer:
    """Seals JSON objects with a public key."""

    def __init__(self, public_key: bytes) -> None:
        self._box = SealedBox(PublicKey(public_key, encoder=Base64Encoder))

    @classmethod
    def from_file(cls, path: Path) -> "Sealer":
        """Raises SealError: the file can't be read, or is no key."""
        return cls(_parsed(PublicKey, path).encode(Base64Encoder))

    def seal(self, content: JsonObject) -> str:
        return self._box.encrypt(json.dumps(content).encode(), encoder=Base64Encoder).decode()


class Opener:
    """Opens what was sealed for its private key."""

    def __init__(self, private_key: bytes) -> None:
        self._box = SealedBox(PrivateKey(private_key, encoder=Base64Encoder))

    @classmethod
    def from_file(cls, path: Path) -> "Opener":
        """Raises SealError: the file can't be read, or is no key."""
        return cls(_parsed(PrivateKey, path).encode(Base64Encoder))

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


def create_keys(public_file: Path, private_file: Path) -> list[Path]:
    """Write what is missing of a pair of keys, each file readable by its owner alone. Returns what was written.

    A private key that is there stays, and its public key is made from it: what was sealed can be opened still.

    Raises:
        SealError: a public key has lost its private key, the two are no pair, or a file is no key.
        OSError: a file can't be written.
    """
    made = []
    if not is_filled(private_file):
        if is_filled(public_file):
            raise SealError(
                f"sealing key {private_file} is missing, and {public_file} is there: bring the private key back; "
                "without it nothing that was sealed can be opened. Where nothing was, remove the public key"
            )
        write_new(private_file, PrivateKey.generate().encode(Base64Encoder))
        made.append(private_file)
    public = _parsed(PrivateKey, private_file).public_key
    if not is_filled(public_file):
        write_new(public_file, public.encode(Base64Encoder))
        return [public_file, *made]
    if _parsed(PublicKey, public_file) != public:
        raise SealError(
            f"sealing keys {public_file} and {private_file} are no pair: what one seals the other can't open"
        )
    return made


K = TypeVar("K", PublicKey, PrivateKey)


def _parsed(kind: type[K], path: Path) -> K:
    try:
        return kind(_read_key(path), encoder=Base64Encoder)
    except (ValueError, TypeError) as error:
        raise SealError(f"sealing key {path}: it is not a key, which is 32 bytes in base64") from error


def _read_key(path: Path) -> bytes:
    try:
        return path.read_bytes().strip()
    except OSError as error:
        raise SealError(
            f"sealing key {path}: {error.strerror}; `odradek up` creates keys for a local stack"
        ) from error
