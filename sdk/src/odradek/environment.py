"""An environment: the tasks' shape, the world that a rollout acts in, and the reward."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

from odradek import rows
from odradek.judging import Verification
from odradek.tools import InvalidArguments, Tool, ToolError, ToolResult, as_result, as_utf8, collect_tools
from odradek_schemas.base import JsonObject
from odradek_schemas.messages import Message, ToolSpec
from odradek_schemas.rollouts import Reward, Trajectory


class NoSettings(BaseModel):
    """Of an environment that can't be set."""


class Environment(ABC):
    """Subclass once per environment and register it in the entry-point group `odradek.environments`.

    `Task` is what the agent's side may know, `Answer` what only the verifier may see (it is sealed on its way),
    `State` what a session remembers between tool calls: mutable, and JSON in the log. An environment without
    `State` has no session and no tools of its own. Instances keep nothing but their `settings`: any method may run in
    any process. `Settings` is what a run may set of the environment (`odradek run ENV --set key=value`).
    """

    name: ClassVar[str]
    Task: ClassVar[type[BaseModel]]
    Answer: ClassVar[type[BaseModel] | None] = None
    State: ClassVar[type[BaseModel] | None] = None
    Settings: ClassVar[type[BaseModel]] = NoSettings
    harness: ClassVar[str] = "tool_calling"
    evidence_needs_answer: ClassVar[bool] = False
    """Whether `evidence` is given the answer: the env-worker then needs the key that opens it."""

    libraries: ClassVar[tuple[str, ...]] = ()
    """Distributions whose code decides rewards: their installed versions are part of the verifier's version."""

    settings: Any
    """An instance of `Settings`."""

    _tools: ClassVar[Mapping[str, Tool]] = {}

    def __init__(self, settings: JsonObject | None = None) -> None:
        """Take the settings of a run, by name.

        Raises:
            ValidationError: they are not what `Settings` asks for.
        """
        self.settings = self.Settings.model_validate(settings or {}, extra="forbid")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._tools = collect_tools(cls)

    @property
    def has_session(self) -> bool:
        """Whether a rollout opens a world here that must be closed again."""
        return self.State is not None

    def split(self, row: JsonObject) -> "rows.TaskRow":
        """Read one row of a data set, NeMo Gym's or Odradek's own.

        Raises:
            RowError: the row does not fit; names the field and the reason.
        """
        return rows.parse_row(self, row)

    def prompt(self, task: Any) -> list[Message]:
        """The first messages of a rollout whose row brings none."""
        return []

    def reset(self, task: Any, seed: int) -> Any:
        """The state in which a session begins, the same for the same task and seed."""
        if self.State is None:
            raise TypeError(f"environment {self.name!r} has no State, so it has no session to reset")
        return self.State()

    def observe(self, state: Any) -> list[Message]:
        """What the model is shown of a session that was just opened, after the prompt."""
        return []

    def tools(self) -> list[ToolSpec]:
        """The tools of a session, in the order of their definition."""
        return [tool.spec for tool in self._tools.values()]

    async def call(self, state: Any, name: str, arguments: str) -> ToolResult:
        """Apply one tool call to `state`, which the tool may change in place; `arguments` is the model's JSON text.

        An unknown tool, arguments that don't fit and a `ToolError` give an observation that says so
        (`is_error`). Any other exception of the tool goes through: it is the environment's fault.
        """
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            return ToolResult(f"There is no tool {name!r}. Tools: {known}.", is_error=True)
        try:
            return as_result(await tool.run(self, state, tool.read_arguments(arguments)))
        except InvalidArguments as error:
            return ToolResult(f"Invalid arguments for {name}: {error}", is_error=True)
        except ToolError as error:
            return ToolResult(as_utf8(str(error)), is_error=True)

    def at_most_once(self, name: str) -> bool:
        """Whether a call of tool `name` that was begun must never be begun again: it has effects outside the session."""
        tool = self._tools.get(name)
        return tool is not None and tool.at_most_once

    def read_arguments(self, name: str, arguments: str) -> dict[str, Any]:
        """The arguments of a call to tool `name`, checked as `call` checks them, by parameter name.

        Raises:
            KeyError: there is no such tool.
            InvalidArguments: they are not what the tool's schema asks for.
        """
        return self._tools[name].read_arguments(arguments)

    def furnish(self, state: Any, workspace: Path) -> None:  # noqa: B027 - there may be nothing to find
        """Put what an agent program is to find into `workspace`, a new folder; nothing by default."""

    def collect(self, state: Any, workspace: Path) -> None:  # noqa: B027 - nothing may matter
        """Take what a program left in `workspace` into `state`; nothing by default. The folder is removed after this."""

    def evidence(self, state: Any, task: Any, answer: Any) -> JsonObject | None:
        """What the verifier will need that only the live world can tell, gathered when the session closes.

        `answer` is None unless `evidence_needs_answer`.
        """
        return None

    @abstractmethod
    def verify(self, trajectory: Trajectory, answer: Any) -> Reward | Verification:
        """Score a trajectory: a pure function of the record, the answer and the settings.

        `answer` is an `Answer`, None where the environment has none. A verifier that needs a judge is a generator:
        see `odradek.judging`.

        Raises:
            Unscored: there is no telling what the trajectory is worth; its reward is masked.
        """

    def warm_up(self) -> None:  # noqa: B027 - most have nothing to load
        """Load what `verify` needs and is slow to load; called before a process verifies, outside its deadline."""

    def examples(self) -> Path:
        """The environment's own example tasks, as JSONL: `examples.jsonl` beside its module."""
        return Path(inspect.getfile(type(self))).with_name("examples.jsonl")
