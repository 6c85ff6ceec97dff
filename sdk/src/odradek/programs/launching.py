"""What it takes to run a program: its arguments, environment, files and standard input."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from odradek.programs.manifest import Program
from odradek.programs.templates import filled, filled_file

INHERITED = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
)
"""All that a program gets of its worker's environment: no key, no token, no password."""

TEMPORARY = "tmp"
"""The folder for temporary files, beneath the home."""

LONGEST_ARGUMENT = 131_071
"""Bytes of one argument, or of one variable with its name, that Linux takes."""


class LaunchError(ValueError):
    """This call can't be put to this program."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a program is called with; `base_url` is the gateway's, without /v1."""

    prompt: str
    model: str
    base_url: str
    token: str = field(repr=False)
    rollout_id: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """Ready to be run. `files`: content by path beneath the home."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    files: Mapping[str, str] = field(repr=False)
    stdin: str = field(repr=False)


def launch(
    program: Program, call: Call, *, home: Path, workspace: Path, seconds: float, inherited: Mapping[str, str]
) -> Launch:
    """What it takes to run `program` for this call.

    Args:
        inherited: the worker's own environment, of which only `INHERITED` goes on.

    Raises:
        LaunchError: a value can't be an argument, a variable or a file: it holds what none can, or is too long.
    """
    values = _values(program, call, home, workspace, seconds)
    argv = tuple(filled(argument, values) for argument in program.command)
    environment = {
        **{name: inherited[name] for name in INHERITED if name in inherited},
        "HOME": str(home),
        "PWD": str(workspace),
        "TMPDIR": str(home / TEMPORARY),
        **{name: filled(template, values) for name, template in program.environment.items()},
    }
    _check_lengths(program, argv, environment)
    files = {path: filled_file(path, template, values) for path, template in program.files.items()}
    return Launch(argv, environment, files, filled(program.stdin, values))


def _values(program: Program, call: Call, home: Path, workspace: Path, seconds: float) -> dict[str, str]:
    values = {
        "prompt": call.prompt,
        "model": call.model,
        "base_url": call.base_url.rstrip("/"),
        "token": call.token,
        "rollout_id": call.rollout_id,
        "home": str(home),
        "workspace": str(workspace),
        "folder": str(program.folder),
        "seconds": str(max(1, int(seconds))),
    }
    for name, value in values.items():
        if "\0" in value or not _is_unicode(value):
            raise LaunchError(f"{name} holds NUL or half a surrogate pair, which no argument or variable can")
    return values


def _check_lengths(program: Program, argv: tuple[str, ...], environment: Mapping[str, str]) -> None:
    variables = (f"{name}={value}" for name, value in environment.items())
    longest = max(len(text.encode()) for text in (*argv, *variables))
    if longest > LONGEST_ARGUMENT:
        raise LaunchError(
            f"an argument or variable of {program.name} would have {longest} bytes, and the kernel takes "
            f"{LONGEST_ARGUMENT}: let its manifest give the prompt through stdin or a file"
        )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
