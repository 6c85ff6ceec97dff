"""Tools: methods of an environment that the model may call.

A tool takes the session's state first and then the arguments that the model chooses; its signature and docstring
become the JSON Schema that the model reads, and that each call is validated against.
"""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar, get_type_hints, overload

import jsonschema_rs
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import from_json, to_jsonable_python

from odradek.threads import in_thread
from odradek_schemas.base import JsonObject
from odradek_schemas.codec import explain
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import FunctionSpec, ToolSpec

_Function = TypeVar("_Function", bound=Callable[..., Any])

LEAVE_SECONDS = 1.0
"""What an `async` tool that is cancelled at its deadline gets to clean up."""

_LONGEST_MESSAGE = 300
_MOST_PROBLEMS = 5
_MARK = "__odradek_tool__"
_STATE_PARAMETERS = 2
"""`self` and the state: what a tool's signature begins with."""


class ToolError(Exception):
    """Raised by a tool to tell the model what went wrong. The rollout goes on."""


class WorldFailed(Exception):
    """Raised by an environment whose world failed it, through no fault of the model: a server that is down, say.

    The attempt fails with this kind, where any other exception is an `environment_error`.
    """

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class ToolDefinitionError(TypeError):
    """A method can't be offered as a tool."""

    def __init__(self, owner: type, name: str, reason: str) -> None:
        super().__init__(f"{owner.__name__}.{name} can't be a tool: {reason}")


class InvalidArguments(Exception):
    """The model's arguments don't fit the tool's schema; the message is for the model to read."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model gets to read.

    `is_error`: the call was bad, or the tool refused it. `done`: the episode is over.
    """

    content: str
    is_error: bool = False
    done: bool = False


@dataclass(frozen=True, slots=True)
class _Mark:
    """What `@tool` says of a method."""

    at_most_once: bool


@overload
def tool(method: _Function) -> _Function: ...


@overload
def tool(*, outside: bool = False, idempotent: bool = False) -> Callable[[_Function], _Function]: ...


def tool(method: Any = None, *, outside: bool = False, idempotent: bool = False) -> Any:
    """Offer a method `(self, state, **arguments)` to the model.

    The docstring is the tool's description; `Annotated[int, Field(description=...)]` describes an argument.
    A plain method runs in a thread, an `async def` on the event loop. What it returns is what the model reads:
    text as it is, a `ToolResult` for more control, anything else as JSON.

    A tool that changes the session's state alone is applied exactly once. `outside=True`: it also changes the world
    outside the session (files, servers, mail), which no log can take back. If its worker dies in the middle it is not
    run again, and the agent is told that the call was interrupted, unless it is `idempotent` as well: running it
    twice does the same as once, so it is simply run again.

    Raises:
        TypeError: `idempotent` without `outside`.
    """
    if idempotent and not outside:
        raise TypeError(
            "idempotent=True needs outside=True: what a tool does to the state alone is applied once anyhow"
        )
    mark = _Mark(at_most_once=outside and not idempotent)

    def offer(method: _Function) -> _Function:
        setattr(method, _MARK, mark)
        return method

    return offer if method is None else offer(method)


@dataclass(frozen=True)
class Tool:
    """One tool of an environment class. `at_most_once`: a call of it that was begun is never begun again."""

    name: str
    spec: ToolSpec
    arguments: type[BaseModel]
    validator: jsonschema_rs.Validator
    is_async: bool
    at_most_once: bool

    def read_arguments(self, text: str) -> dict[str, Any]:
        """Read the arguments as a model wrote them; blank text counts as no arguments.

        Raises:
            InvalidArguments: not JSON, or not what the schema asks for. The message says what is wrong and where.
        """
        try:
            raw = from_json(text, allow_inf_nan=False) if text.strip() else {}
        except ValueError as error:
            raise InvalidArguments(f"the arguments are not JSON: {error}") from error
        problems = [_describe(error) for error in islice(self.validator.iter_errors(raw), _MOST_PROBLEMS)]
        if problems:
            raise InvalidArguments("; ".join(problems))
        try:
            read = self.arguments.model_validate(raw)
        except ValidationError as error:
            raise InvalidArguments(explain(error)) from error
        return {name: getattr(read, name) for name in self.arguments.model_fields}

    async def run(self, environment: object, state: object, arguments: dict[str, Any]) -> Any:
        """Call the method; whatever it raises goes through."""
        method = getattr(environment, self.name)
        if self.is_async:
            return await _left_when_cancelled(method(state, **arguments))
        return await in_thread(method, state, **arguments)


async def _left_when_cancelled(work: Awaitable[Any]) -> Any:
    """Await user code that may not let itself be cancelled: it is asked to, given a moment, and left behind."""
    task = asyncio.ensure_future(_caught(work))
    try:
        result, error = await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancel():
            await asyncio.wait({task}, timeout=LEAVE_SECONDS)
        raise
    if error is not None:
        raise error
    return result


async def _caught(work: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """A task of its own that raised SystemExit would end the event loop."""
    try:
        return await work, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - handed to whoever awaits
        return None, error


def collect_tools(owner: type) -> Mapping[str, Tool]:
    """The tools of a class and of those it inherits from, in the order of their definition.

    Raises:
        ToolDefinitionError: a method marked as a tool has a signature that can't be described to a model.
    """
    names: dict[str, type] = {}
    for cls in reversed(owner.__mro__):
        for name, member in vars(cls).items():
            if isinstance(getattr(member, _MARK, None), _Mark):
                names[name] = cls
            elif name in names:
                del names[name]
    return {name: _build(cls, name) for name, cls in names.items()}


def as_result(returned: object) -> ToolResult:
    """What a tool returned, as the model reads it."""
    if isinstance(returned, ToolResult):
        return replace(returned, content=as_utf8(returned.content))
    if isinstance(returned, str):
        return ToolResult(as_utf8(returned))
    return ToolResult(as_utf8(json.dumps(to_jsonable_python(returned), ensure_ascii=False)))


def as_utf8(text: str) -> str:
    """`text` as it can be written to the log: a lone half of a surrogate pair becomes a question mark."""
    return text.encode(errors="replace").decode()


def _build(owner: type, name: str) -> Tool:
    method = vars(owner)[name]
    arguments = _arguments_model(owner, name, method)
    schema = _schema(arguments)
    function = FunctionSpec(name=name, description=inspect.getdoc(method), parameters=schema)
    return Tool(
        name=name,
        spec=ToolSpec(function=function),
        arguments=arguments,
        validator=jsonschema_rs.validator_for(schema),
        is_async=inspect.iscoroutinefunction(method),
        at_most_once=getattr(method, _MARK).at_most_once,
    )


def _arguments_model(owner: type, name: str, method: Callable[..., Any]) -> type[BaseModel]:
    parameters = list(inspect.signature(method).parameters.values())
    if len(parameters) < _STATE_PARAMETERS:
        raise ToolDefinitionError(owner, name, "its first parameters must be self and the state")
    try:
        hints = get_type_hints(method, localns=dict(vars(owner)), include_extras=True)
    except NameError as error:
        raise ToolDefinitionError(owner, name, f"an annotation can't be resolved: {error}") from error
    fields: dict[str, Any] = {}
    for parameter in parameters[_STATE_PARAMETERS:]:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ToolDefinitionError(owner, name, f"the model can't name its parameter {parameter}")
        if parameter.name not in hints:
            raise ToolDefinitionError(owner, name, f"parameter {parameter.name!r} needs a type")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], default)
    return create_model(f"{name}_arguments", __config__=ConfigDict(extra="forbid"), **fields)


def _schema(arguments: type[BaseModel]) -> JsonObject:
    schema = arguments.model_json_schema()
    schema.pop("title", None)
    schema.setdefault("properties", {})
    for field in schema["properties"].values():
        field.pop("title", None)
    return schema


def _describe(error: jsonschema_rs.ValidationError) -> str:
    where = ".".join(map(str, error.instance_path))
    what = error.message
    if (
        len(what) > _LONGEST_MESSAGE
    ):  # it begins with the model's own value, and ends with what is wrong with it
        half = _LONGEST_MESSAGE // 2
        what = f"{what[:half]} ... {what[-half:]}"
    return f"{where}: {what}" if where else what
