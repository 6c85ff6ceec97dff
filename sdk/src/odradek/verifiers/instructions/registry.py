"""The instructions by name: what arguments each takes, and the check behind it."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError, create_model

Relation = Literal["less than", "at least"]
"""How a count compares with the number that is asked for."""

_Check = Callable[..., bool]


class UnknownInstruction(ValueError):
    """There is no instruction of that name."""


class InvalidInstruction(ValueError):
    """An instruction's arguments don't fit."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One kind of instruction. `arguments` is a model of what it is told beside the text."""

    name: str
    check: _Check
    arguments: type[BaseModel]

    def read(self, arguments: Mapping[str, JsonValue] | None) -> BaseModel:
        """The arguments of one use; those that are null are not there.

        Raises:
            InvalidInstruction: one is missing, unknown or of the wrong kind.
        """
        given = {name: value for name, value in (arguments or {}).items() if value is not None}
        try:
            return self.arguments.model_validate(given)
        except ValidationError as error:
            problem = error.errors(include_url=False, include_input=False)[0]
            at = ".".join(map(str, problem["loc"]))
            raise InvalidInstruction(f"{self.name}: {at}: {problem['msg']}") from error

    def followed(self, text: str, arguments: Mapping[str, JsonValue] | None = None) -> bool:
        """Whether `text` follows the instruction. A text of nothing but white space follows none.

        Raises:
            InvalidInstruction: an argument is missing, unknown or of the wrong kind.
        """
        return bool(text.strip()) and self.check(text, **dict(self.read(arguments)))


_known: dict[str, Instruction] = {}


def instruction(name: str) -> Callable[[_Check], _Check]:
    """Register a check, `check(text, argument, ...) -> bool`, under a name."""

    def register(check: _Check) -> _Check:
        _known[name] = Instruction(name, check, _arguments(name, check))
        return check

    return register


def find(name: str) -> Instruction:
    """The instruction called `name`, such as `length_constraints:number_words`.

    Raises:
        UnknownInstruction: there is none of that name.
    """
    if name not in _known:
        raise UnknownInstruction(f"no instruction is called {name!r}; known: {', '.join(names())}")
    return _known[name]


def names() -> list[str]:
    """The names of all instructions, sorted."""
    return sorted(_known)


def follows(text: str, name: str, arguments: Mapping[str, JsonValue] | None = None) -> bool:
    """Whether `text` follows one use of the instruction called `name`.

    Raises:
        UnknownInstruction: there is none of that name.
        InvalidInstruction: its arguments don't fit.
    """
    return find(name).followed(text, arguments)


def reaches(count: int, number: int, relation: Relation) -> bool:
    """Whether a count is `relation` the number."""
    return count < number if relation == "less than" else count >= number


def _arguments(name: str, check: _Check) -> type[BaseModel]:
    parameters = list(inspect.signature(check).parameters.values())[1:]
    fields: dict[str, Any] = {
        one.name: (one.annotation, ... if one.default is inspect.Parameter.empty else one.default)
        for one in parameters
    }
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
