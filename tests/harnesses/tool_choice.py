"""What the scripted model calls: programs name and shape their tools differently, so it looks at what is offered."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

SHELLS = ("bash", "exec_command", "shell", "shell_command", "terminal", "exec", "execute_bash", "run_command")
PYTHONS = ("python", "execute_python", "execute_code", "run_python", "run_code")
FINISHERS = ("finish", "submit", "return_result", "task_complete")
COMMANDS = ("command", "cmd", "script", "code", "input")
WORDS = ("message", "answer", "result", "summary", "text", "value")

Tool = dict[str, Any]
"""The `function` of an offered tool."""


@dataclass(frozen=True)
class Wanted:
    """A call, by the name and with the arguments that the program's tool takes."""

    name: str
    arguments: str


def shell_call(tools: Sequence[Tool], command: str) -> Wanted | None:
    """Run a command: in the shell that is offered, or in Python, where that is all there is."""
    if (shell := _named(tools, SHELLS)) is not None:
        return _call(shell, COMMANDS, command)
    if (python := _named(tools, PYTHONS)) is not None:
        return _call(python, COMMANDS, f"print(self.bash({command!r}))")
    return None


def last_call(tools: Sequence[Tool], words: str) -> Wanted | None:
    """End with these words, where the program wants that said by a call."""
    finish = _named(tools, FINISHERS)
    return None if finish is None else _call(finish, WORDS, words)


def _named(tools: Sequence[Tool], names: Iterable[str]) -> Tool | None:
    """The tool of the first of these names; one in a namespace has it before the name."""
    known = {tool["name"].rpartition("__")[2].lower(): tool for tool in tools}
    return next((known[name] for name in names if name in known), None)


def _call(tool: Tool, names: Iterable[str], value: str) -> Wanted:
    """`value` for the first of `names` that the tool takes, and something that fits for all else that it insists on."""
    schema = tool.get("parameters") or {}
    properties: dict[str, Any] = schema.get("properties") or {}
    chosen = next(name for name in names if name in properties)
    arguments = {name: _filler(properties.get(name, {})) for name in schema.get("required") or []}
    return Wanted(tool["name"], json.dumps({**arguments, chosen: value}))


def _filler(schema: dict[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    fillers = {"boolean": False, "integer": 10, "number": 10, "array": [], "object": {}}
    return fillers.get(schema.get("type", ""), "as the task says")
