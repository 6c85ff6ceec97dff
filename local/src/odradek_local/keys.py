"""The key pair that seals answers, and the secret that signs tokens: made once per data directory, readable by its owner."""

from dataclasses import dataclass
from pathlib import Path

from odradek_runtime.access import create_secret
from odradek_runtime.sealing import create_keys


@dataclass(frozen=True)
class KeyFiles:
    """Files of one line each: the key in base64."""

    public: Path
    private: Path


def sealing_keys(folder: Path) -> KeyFiles:
    """The key files in `folder`, made there the first time.

    A key is never replaced: answers that were sealed with it could not be opened any more.

    Raises:
        SealError: a key is lost, or the two are no pair.
    """
    files = KeyFiles(folder / "sealing-public.key", folder / "sealing-private.key")
    create_keys(files.public, files.private)
    return files


def access_secret(folder: Path) -> Path:
    """The file with the secret for tokens of the model gateway's HTTP front end, made in `folder` the first time."""
    path = folder / "access.secret"
    if not path.exists() or not path.stat().st_size:
        create_secret(path)
    return path
