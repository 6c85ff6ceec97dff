"""The manifest of an agent program: how it is told the model, how it is run, and how its end is read."""

import re
from itertools import starmap
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    field_validator,
    model_validator,
)

from odradek.programs.templates import check_file, check_words, words_of, words_of_file

_NEEDED = ("prompt", "base_url", "token")
_OURS = frozenset({"HOME", "PATH", "PWD", "TMPDIR"})


def _a_template(text: str) -> str:
    check_words(text)
    return text


def _beneath_home(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or parts[0] == "/" or ".." in parts:
        raise ValueError(f"{path!r} must be a path beneath the program's home, such as .config/agent.json")
    return str(PurePosixPath(path))


Template = Annotated[str, AfterValidator(_a_template)]
HomePath = Annotated[str, AfterValidator(_beneath_home)]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Install(_Closed):
    """What has to be there. `check` proves that it is: a command that prints the version."""

    pip: tuple[str, ...] = ()
    python: str | None = Field(
        default=None, description="The version of Python; None: any that runs Odradek."
    )
    npm: tuple[str, ...] = ()
    node: str | None = Field(default=None, description="The version of Node, where npm is to bring it.")
    check: tuple[str, ...] = ()


class Place(_Closed):
    """A stream of the program, or a file beneath its home."""

    stream: Literal["stdout", "stderr"] = "stdout"
    file: HomePath | None = None


class Source(Place):
    """What stands at a place.

    `json` and `jsonl`: at the dotted `path` of the document, or of the last event that holds all of `match` (dotted
    paths, too) and has such a path. `*` is every entry of a list; of paths with `|` between them the first counts that
    is there.
    """

    read: Literal["all", "last_line", "json", "jsonl"] = "all"
    match: dict[str, JsonValue] = Field(default_factory=dict)
    path: str = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.match or self.path) and self.read not in ("json", "jsonl"):
            raise ValueError(f"match and path are for json and jsonl, not for {self.read!r}")
        return self


class Result(Source):
    """The agent's last word. One that is missing is a failure, unless the model may end without a word."""

    optional: bool = False


class Sign(Source):
    """A sign of failure, whatever the exit code: a value that is one of `when`, or that is missing or none of `unless`.

    `reason` is the path of the words for it, in the same document. With neither list any value is a sign, and the words.
    """

    when: tuple[JsonValue, ...] = ()
    unless: tuple[JsonValue, ...] = ()
    reason: str | None = None


class Program(_Closed):
    """An agent program. With `command` it is run; with `url` it is a server that is asked."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$", max_length=64)
    about: str = ""
    dialect: Literal["chat", "responses", "messages"] = Field(description="How it asks the gateway.")
    streams: bool = Field(description="Whether it wants its replies in pieces.")
    tested: str | None = Field(default=None, description="The version seen working; None: none was.")
    install: Install = Field(default_factory=Install)
    command: tuple[Template, ...] = ()
    url: str | None = None
    environment: dict[str, Template] = Field(default_factory=dict)
    files: dict[HomePath, str] = Field(default_factory=dict, description="Written beneath its home.")
    stdin: Template = ""
    result: Result = Field(default_factory=Result)
    log: Place = Field(default_factory=lambda: Place(stream="stderr"))
    failed: tuple[Sign, ...] = ()
    outside: tuple[str, ...] = Field(
        default=(), description="Other hosts that it asks for, and does without."
    )
    folder: Path = Field(default=Path(), exclude=True, description="Where the manifest lies.")

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str | None) -> str | None:
        if url is not None and not re.match(r"https?://[^/\s@]+", url):
            raise ValueError(f"{url!r} is not a URL such as http://agent:9000/rollouts")
        return url

    @field_validator("environment")
    @classmethod
    def _check_environment(cls, environment: dict[str, str]) -> dict[str, str]:
        for name in environment:
            if name in _OURS or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
                raise ValueError(f"{name!r} is no variable that a manifest may set")
        return environment

    @field_validator("files")
    @classmethod
    def _check_files(cls, files: dict[str, str]) -> dict[str, str]:
        for path, template in files.items():
            try:
                check_file(path, template)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from error
        return files

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if (self.url is None) == (not self.command):
            raise ValueError("give either command, to run it, or url, to ask it")
        if self.url is None:
            self._check_words()
        elif self.environment or self.files or self.stdin or self.failed:
            raise ValueError("a program at a url is not run here: leave out what is for its process")
        return self

    @property
    def places(self) -> tuple[Place, ...]:
        """All that is read when it has ended."""
        return (self.result, self.log, *self.failed)

    def _check_words(self) -> None:
        if any("token" in words_of(argument) for argument in self.command):
            raise ValueError(
                "command: holds {token}, which all on the machine can read there: use environment or files"
            )
        texts = (*self.command, *self.environment.values(), self.stdin)
        said = set().union(*map(words_of, texts), *starmap(words_of_file, self.files.items()))
        for word in _NEEDED:
            if word not in said:
                raise ValueError(f"{{{word}}} is nowhere: the program would not get it")
