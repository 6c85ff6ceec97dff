"""An office's work, graded by the state that it is left in."""

from pydantic import BaseModel, Field
from pydantic_core import to_json

from odradek import Environment, JsonObject, Message, Reward, ToolError, ToolResult, Trajectory
from odradek.demonstrations import demonstrate
from odradek.judging import Unscored
from odradek.rows import RowError, TaskRow
from odradek.tools import InvalidArguments
from odradek.transcript import function_calls
from odradek_workplace_assistant.outcome import Action, Outcome, outcome, without_nulls
from odradek_workplace_assistant.replies import Refused, told
from odradek_workplace_assistant.tables import Tables, TablesError, load_tables
from odradek_workplace_assistant.toolkits.analytics import AnalyticsTools
from odradek_workplace_assistant.toolkits.calendar import CalendarTools
from odradek_workplace_assistant.toolkits.customers import CustomerTools
from odradek_workplace_assistant.toolkits.directory import DirectoryTools
from odradek_workplace_assistant.toolkits.email import EmailTools
from odradek_workplace_assistant.toolkits.projects import ProjectTools
from odradek_workplace_assistant.toolkits.toolkit import Office

_FORM = (
    "It is Thursday, 2023-11-30, 23:59:00. Do what you are asked with the tools: look up what you need, then act. "
    "Meetings are between 09:00 and 18:00."
)
_EXAMPLE = demonstrate(
    "Write to Elif, subject 'Lunch', text 'At noon?'.",
    [
        (
            "company_directory_find_email_address",
            {"name": "elif"},
            told(["elif.kaya@atlas.com"]).content,
        ),
        (
            "email_send_email",
            {"recipient": "elif.kaya@atlas.com", "subject": "Lunch", "body": "At noon?"},
            told("Email sent successfully.").content,
        ),
    ],
    "I wrote to Elif.",
)


class WorkplaceSettings(BaseModel):
    """What a run may set."""

    tables: str | None = Field(
        default=None,
        description="The office: a folder of CSV files or a nemo-gym wheel, a path on every worker's machine. "
        "None: the package's own small office.",
    )


class WorkplaceTask(BaseModel):
    """`category`: what kind of task it is, for grouping results."""

    instruction: str | None = Field(default=None, description="None: the row brings its own messages.")
    category: str | None = None


class WorkplaceAnswer(BaseModel):
    """`expected` is worked out from `ground_truth` when a row is read; so the verifier needs no tables."""

    ground_truth: list[Action]
    expected: Outcome | None = None


class WorkplaceAssistant(
    CustomerTools, ProjectTools, AnalyticsTools, CalendarTools, EmailTools, DirectoryTools, Environment
):
    """The office must be left as the true actions would leave it: 1, else 0."""

    name = "workplace_assistant"
    Task = WorkplaceTask
    Answer = WorkplaceAnswer
    State = Office
    Settings = WorkplaceSettings
    settings: WorkplaceSettings

    @property
    def tables(self) -> Tables:
        return load_tables(self.settings.tables)

    def split(self, row: JsonObject) -> TaskRow:
        parsed = super().split(row)
        answer = WorkplaceAnswer.model_validate(parsed.answer)
        try:
            expected = self._after(answer.ground_truth)
        except TablesError as error:
            raise RowError("", str(error)) from error
        sealed = WorkplaceAnswer(ground_truth=answer.ground_truth, expected=expected)
        return parsed.model_copy(update={"answer": sealed.model_dump(mode="json")})

    def prompt(self, task: WorkplaceTask) -> list[Message]:
        if task.instruction is None:
            return []
        return [
            Message(role="system", content=_FORM),
            *_EXAMPLE,
            Message(role="user", content=task.instruction),
        ]

    def reset(self, task: WorkplaceTask, seed: int) -> Office:
        """An office in which nothing was done yet.

        Raises:
            TablesError: there is no reading its tables.
        """
        load_tables(self.settings.tables)
        return Office()

    async def call(self, state: Office, name: str, arguments: str) -> ToolResult:
        return await super().call(state, name, without_nulls(arguments))

    def evidence(self, state: Office, task: WorkplaceTask, answer: None) -> JsonObject:
        return outcome(self, state).model_dump()

    def verify(self, trajectory: Trajectory, answer: WorkplaceAnswer) -> Reward:
        """Compare what the session came to with what it should have.

        A trajectory without evidence is a recorded one: its calls are carried out again, as NeMo Gym's server does.

        Raises:
            Unscored: the session and the answer are of different tables.
        """
        played = self._recorded(trajectory)
        expected = answer.expected or self._after(answer.ground_truth)
        if played.tables != expected.tables:
            raise Unscored.because(
                f"the session had tables {played.tables}, the answer is for {expected.tables}: "
                "all workers must see the same files under the setting 'tables'"
            )
        equal = played.equal_parts(expected)
        accuracy = float(all(equal.values()))
        parts = {name: float(same) for name, same in equal.items()}
        return Reward(reward=accuracy, components={"accuracy": accuracy, **parts})

    def _recorded(self, trajectory: Trajectory) -> Outcome:
        if trajectory.evidence is not None:
            return Outcome.model_validate(trajectory.evidence)
        office = Office()
        for function in function_calls(trajectory):
            self._apply(office, function.name, function.arguments)
        return outcome(self, office)

    def _after(self, actions: list[Action]) -> Outcome:
        """What the true actions come to.

        Raises:
            RowError: one of them can't be carried out on these tables.
        """
        office = Office()
        for number, action in enumerate(actions):
            refusal = self._apply(office, action.name, to_json(action.arguments).decode())
            if refusal is not None:
                reason = f"{action.name}: {refusal} Is the setting 'tables' the office that the row is about?"
                raise RowError(f"ground_truth.{number}", reason)
        return outcome(self, office)

    def _apply(self, office: Office, name: str, arguments: str) -> str | None:
        """Carry out one call; why it changed nothing, if so."""
        if name not in self._tools:
            return "there is no such tool."
        try:
            getattr(self, name)(office, **self.read_arguments(name, without_nulls(arguments)))
        except Refused as refused:
            return refused.reason
        except (InvalidArguments, ToolError) as error:
            return str(error)
        return None
