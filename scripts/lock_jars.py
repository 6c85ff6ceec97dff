"""Writes the lock file of the broker's jars: what Kafka and its logging need, with the SHA-256 of each jar."""

import hashlib
import tempfile
from pathlib import Path

from jgo.maven import MavenContext
from jgo.parse import Coordinate

from odradek_local.jars import LOCK_FILE

# Resolved one by one: together, the second's version management would replace Kafka's own client by an older one.
ROOTS = (
    Coordinate(groupId="org.apache.kafka", artifactId="kafka_2.13", version="4.2.1", scope="compile"),
    Coordinate(
        groupId="org.apache.logging.log4j", artifactId="log4j-slf4j-impl", version="2.25.4", scope="compile"
    ),
)
HEADER = "# The broker's jars: SHA-256 and Maven coordinates. Written by `make lock`: do not edit.\n"


def main() -> None:
    """Resolves both roots and writes the lock file."""
    with tempfile.TemporaryDirectory() as cache:
        lines = {line for root in ROOTS for line in locked(root, Path(cache))}
    LOCK_FILE.write_text(HEADER + "".join(sorted(lines, key=lambda line: line.split()[1])))
    print(f"{LOCK_FILE.name}: {len(lines)} jars")


def locked(root: Coordinate, cache: Path) -> set[str]:
    """One line for each jar that this coordinate needs at run time, itself included."""
    context = MavenContext(repo_cache=cache, timeout=60)
    inputs, transitive = context.resolver.resolve([context.create_dependency(root)])
    needed = [
        *inputs,
        *(dependency for dependency in transitive if dependency.scope in ("compile", "runtime")),
    ]
    return {line(dependency.artifact) for dependency in needed}


def line(artifact) -> str:
    """`SHA256  GROUP:ARTIFACT:VERSION`."""
    sha256 = hashlib.sha256(artifact.resolve().read_bytes()).hexdigest()
    return f"{sha256}  {artifact.groupId}:{artifact.artifactId}:{artifact.version}\n"


if __name__ == "__main__":
    main()
