"""What can be said of an environment without a stack: its examples fit, and its sessions begin as they should."""

from collections.abc import Iterator
from dataclasses import dataclass

import jsonschema_rs
from pydantic_core import from_json

from odradek.environment import Environment
from odradek_cli.datasets import Checked, check_rows, read_file
from odradek_cli.errors import CliError

_SEED = 7


@dataclass(frozen=True)
class EnvironmentReport:
    """What was found; in order when there are no problems."""

    name: str
    examples: int
    tools: int
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


def check_environment(environment: Environment) -> EnvironmentReport:
    """Check the example tasks, the tools' schemas, and that a session begins the same way twice."""
    tools = environment.tools()
    problems = list(_tool_problems(environment))
    try:
        path = environment.examples()
        content = read_file(path)
    except CliError as error:
        return EnvironmentReport(environment.name, 0, len(tools), (*problems, f"examples: {error}"))
    checked = check_rows(environment, content)
    problems += [f"{path.name}:{row.line}: {row.field}: {row.reason}" for row in checked.bad]
    if not checked.rows:
        problems.append(f"{path} holds no example tasks")
    elsewhere = type(environment).open is not Environment.open  # its session can't be begun here
    if not checked.bad and environment.has_session and not elsewhere:
        problems += _session_problems(environment, checked)
    return EnvironmentReport(environment.name, checked.rows, len(tools), tuple(problems))


def fitting(found: dict[str, Checked]) -> list[str]:
    """The environments that take every row."""
    return [name for name, checked in found.items() if checked.rows and not checked.bad]


def _tool_problems(environment: Environment) -> Iterator[str]:
    for tool in environment.tools():
        try:
            jsonschema_rs.meta.validate(tool.function.parameters)
        except jsonschema_rs.ValidationError as error:
            yield f"tool {tool.function.name}: its parameters are no JSON Schema: {error.message}"


def _session_problems(environment: Environment, checked: Checked) -> Iterator[str]:
    for number, line in enumerate((line for line in checked.content.splitlines() if line.strip()), 1):
        try:
            task = environment.Task.model_validate(environment.split(from_json(line)).task)
            first, second = (environment.reset(task, _SEED).model_dump(mode="json") for _ in range(2))
        except Exception as error:  # noqa: BLE001 - the environment's own code: its failure is what is reported
            yield f"example {number}: the session does not begin: {error!r}"
            continue
        if first != second:
            yield f"example {number}: two sessions of one seed begin differently"
