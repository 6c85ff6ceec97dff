"""The broker's jars: pinned Maven coordinates with SHA-256 sums, fetched once into a cache that all stacks share."""

import hashlib
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from odradek_local.ports import LOOK_EVERY_S, locked

LOCK_FILE = Path(__file__).with_name("kafka-jars.lock")
DOWNLOADS_AT_ONCE = 8
DOWNLOAD_ANSWER_S = 60
TURN_WITHIN_S = 150.0  # below what `odradek up` waits for in all, so that this is what it tells


class JarError(RuntimeError):
    """A jar could not be fetched, or is not the one that the lock file names."""


@dataclass(frozen=True)
class Jar:
    """One line of the lock file."""

    group: str
    artifact: str
    version: str
    sha256: str

    @classmethod
    def parse(cls, line: str) -> "Jar":
        """Reads `SHA256  GROUP:ARTIFACT:VERSION`."""
        sha256, coordinates = line.split()
        group, artifact, version = coordinates.split(":")
        return cls(group, artifact, version, sha256)

    @property
    def coordinates(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"

    def path(self, repository: Path) -> Path:
        """Where the jar lies in a Maven repository folder."""
        folder = repository.joinpath(*self.group.split("."), self.artifact, self.version)
        return folder / f"{self.artifact}-{self.version}.jar"


def cache_dir() -> Path:
    """`$XDG_CACHE_HOME/odradek`, or `~/.cache/odradek`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "odradek"


def read_lock(path: Path = LOCK_FILE) -> list[Jar]:
    """The jars that the lock file names."""
    lines = path.read_text().splitlines()
    return [Jar.parse(line) for line in lines if line and not line.startswith("#")]


def locked_jars(cache: Path | None = None) -> list[Path]:
    """The paths of all locked jars, fetched where they are missing and each compared with its SHA-256.

    Raises JarError, which names the jar and what to do.
    """
    repository = (cache or cache_dir()) / "maven"
    repository.mkdir(parents=True, exist_ok=True)
    with _only_one(repository / ".lock"), ThreadPoolExecutor(DOWNLOADS_AT_ONCE) as pool:
        return list(pool.map(lambda jar: _fetched(jar, repository), read_lock()))


def _fetched(jar: Jar, repository: Path) -> Path:
    path = jar.path(repository)
    if not path.exists():
        _download(jar, repository)
    _verify(jar, path)
    return path


def _download(jar: Jar, repository: Path) -> None:
    """Fetches into a folder aside and moves the jar in place, so that a half-read one is never taken for whole."""
    from jgo.maven import MavenContext  # here: it takes long to import, and only the first start needs it

    aside = repository / ".partial"
    partial, path = jar.path(aside), jar.path(repository)
    partial.unlink(missing_ok=True)
    project = MavenContext(repo_cache=aside, timeout=DOWNLOAD_ANSWER_S).project(jar.group, jar.artifact)
    try:
        project.at_version(jar.version).artifact().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise JarError(
            f"Could not download {jar.coordinates}: {error}\n"
            "The first start needs Maven Central; or set ODRADEK_KAFKA_LIBS to the libs folder of a Kafka 4.2."
        ) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    partial.replace(path)


def _verify(jar: Jar, path: Path) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != jar.sha256:
        raise JarError(
            f"{path} is not the jar that was locked for {jar.coordinates}: its SHA-256 is {found}, not {jar.sha256}.\n"
            "Delete the file and start again: it will be downloaded anew."
        )


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """Lets one process at a time fill the cache. Raises JarError when another takes longer than its deadline."""
    until = time.monotonic() + TURN_WITHIN_S
    with path.open("w") as lock:
        while not locked(lock.fileno()):
            if time.monotonic() > until:
                raise JarError(
                    f"Another process has been fetching Kafka's jars into {path.parent} for {TURN_WITHIN_S:.0f} s: "
                    "try again when it is done, or end it."
                )
            time.sleep(LOOK_EVERY_S)
        yield
