"""The key pair that seals answers: made once per data directory, readable by its owner alone."""

from dataclasses import dataclass
from pathlib import Path

from odradek_runtime.sealing import create_keys


@dataclass(frozen=True)
class KeyFiles:
    """Files of one line each: the key in base64."""

    public: Path
    private: Path


def sealing_keys(folder: Path) -> KeyFiles:
    """The key files in `folder`, made there the first time.

    A key is never replaced: answers that were sealed with it could not be opened any more.
    """
    files = KeyFiles(folder / "sealing-public.key", folder / "sealing-private.key")
    if not files.public.exists():  # it is written last: without it nothing was sealed yet
        create_keys(files.public, files.private)
    return files
