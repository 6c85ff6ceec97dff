"""Which code scored a rollout: a verifier's name and a hash of what decides its rewards."""

import hashlib
import inspect
import json
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

from odradek.environment import Environment
from odradek_schemas.events import VerifierIdentity

_DIGITS = 16


def verifier_identity(environment: Environment) -> VerifierIdentity:
    """The environment's name, and a hash of its code, settings and libraries: 16 hexadecimal digits.

    The code is every Python file of the packages that the environment's class and those it inherits from lie in;
    of a class outside a package, its module; and the SDK's own verifiers. Where the files lie does not matter, what
    they hold does. Of the distributions in `libraries` the installed versions count.

    Raises:
        OSError: the source of a class can't be found (it was typed into an interpreter).
    """
    digest = hashlib.sha256(_code_digest(type(environment)))
    digest.update(_sdk_digest())
    digest.update(environment.settings.model_dump_json().encode())
    digest.update(json.dumps([[name, _installed(name)] for name in environment.libraries]).encode())
    return VerifierIdentity(name=environment.name, version=digest.hexdigest()[:_DIGITS])


@cache
def _code_digest(cls: type[Environment]) -> bytes:
    return _files_digest(_sources(cls))


@cache
def _sdk_digest() -> bytes:
    """Of what the SDK gives verifiers."""
    folder = Path(__file__).parent
    files = [*folder.glob("verifiers/**/*.py"), folder / "transcript.py"]
    return _files_digest((path.relative_to(folder).as_posix(), path) for path in files)


def _installed(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _files_digest(files: Iterable[tuple[str, Path]]) -> bytes:
    digest = hashlib.sha256()
    for name, path in sorted(set(files)):
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.digest()


def _sources(cls: type[Environment]) -> Iterator[tuple[str, Path]]:
    """Name and path of each file that the class's code is in."""
    for base in cls.__mro__:
        if not issubclass(base, Environment) or base is Environment:
            continue
        module = Path(inspect.getfile(base))
        if sys.modules[base.__module__].__package__:
            folder = module.parent
            yield from ((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*.py"))
        else:
            yield module.name, module
