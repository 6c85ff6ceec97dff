"""Runs before a service's container, as root, and ends: makes the task's volumes the service's own.

ECS hands secrets over as environment variables only, and mounts volumes that belong to root. Each `SECRET_FILE_<name>`
becomes the file `<name>` in the secrets' volume, which the service mounts read-only; the value is in no environment that
lives on. This file's text is the container's command, so it uses the standard library alone.
"""

import os
import sys
from pathlib import Path

PREFIX = "SECRET_FILE_"


def prepare(secrets: Path, state: Path, scratch: Path, user: int) -> None:
    """Write the secrets, give `secrets` and `state` to `user`, and open `scratch` as /tmp is."""
    for name, value in os.environ.items():
        if name.startswith(PREFIX):
            _write(secrets / name.removeprefix(PREFIX), value, user)
    for folder in (secrets, state):
        folder.chmod(0o700)
        os.chown(folder, user, user)
    scratch.chmod(0o1777)


def _write(path: Path, value: str, user: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    with os.fdopen(descriptor, "w") as file:
        os.fchown(descriptor, user, user)
        file.write(value)


if __name__ == "__main__":
    folders = [Path(folder) for folder in sys.argv[1:4]]
    prepare(folders[0], folders[1], folders[2], int(sys.argv[4]))
