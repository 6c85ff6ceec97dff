"""Multiple-choice questions in one turn."""

from pydantic import BaseModel, Field, JsonValue, field_validator, model_validator

from odradek import Environment, JsonObject, Message, Reward, Trajectory
from odradek.transcript import output_text
from odradek.verifiers.choices import GradingMode, extract
from odradek.verifiers.options import Options

_BOXED = ("End with the letter of the right option in \\boxed{}.", "\\boxed{C}")
_COLON = ('Reply with "Answer: " and the letter of the right option.', "Answer: C")
_FORMS = {
    GradingMode.STRICT_SINGLE_LETTER_BOXED: _BOXED,
    GradingMode.LENIENT_BOXED: _BOXED,
    GradingMode.LENIENT_ANSWER_COLON: _COLON,
    GradingMode.LENIENT_ANSWER_COLON_MD: _COLON,
}
"""What each mode's prompt asks for, and how the worked example answers."""

_EXAMPLE = (
    "Which colour is a clear sky?",
    Options((("A", "Green"), ("B", "Red"), ("C", "Blue"), ("D", "Black"))),
)


class McqaTask(BaseModel):
    """What may be chosen, and how the choice is read.

    `template_metadata`: `output_regex` (a pattern, or several to try in turn) goes before the grading mode;
    `answer_prefix` marks answers like `Answer:` does. Other keys are the row's own business.
    """

    question: str | None = Field(default=None, description="None: the row brings its own messages.")
    options: list[dict[str, str | None]] = Field(default_factory=list)
    grading_mode: GradingMode = GradingMode.STRICT_SINGLE_LETTER_BOXED
    template_metadata: JsonObject | None = None

    @field_validator("template_metadata")
    @classmethod
    def _check_template(cls, template: JsonObject | None) -> JsonObject | None:
        for key in ("output_regex", "answer_prefix"):
            value = (template or {}).get(key)
            texts = value if isinstance(value, list) and key == "output_regex" else [value]
            if value is not None and not all(isinstance(text, str) for text in texts):
                raise ValueError(
                    f"{key} must be text" + (" or a list of texts" if key == "output_regex" else "")
                )
        return template

    @model_validator(mode="after")
    def _check_gradable(self) -> "McqaTask":
        if not self.choices.entries and not self.patterns:
            raise ValueError(
                "options must give letters and texts (only template_metadata.output_regex does without)"
            )
        return self

    @property
    def choices(self) -> Options:
        return Options.read(self.options)

    @property
    def patterns(self) -> list[str]:
        """The row's own patterns, in the order in which they are tried."""
        given: JsonValue = (self.template_metadata or {}).get("output_regex")
        return [str(pattern) for pattern in (given if isinstance(given, list) else [given]) if pattern]

    @property
    def answer_prefix(self) -> str | None:
        prefix = (self.template_metadata or {}).get("answer_prefix")
        return prefix if isinstance(prefix, str) else None


class McqaAnswer(BaseModel):
    expected_answer: str = Field(min_length=1, description="The right option's letter.")


class Mcqa(Environment):
    """One question, options with letters, one letter to choose; 1 for the right one, else 0."""

    name = "mcqa"
    harness = "single_turn"
    Task = McqaTask
    Answer = McqaAnswer

    def prompt(self, task: McqaTask) -> list[Message]:
        if task.question is None:
            return []
        form, answer = _FORMS[task.grading_mode]
        return [
            Message(role="user", content=_question(*_EXAMPLE, form)),
            Message(role="assistant", content=answer),
            Message(role="user", content=_question(task.question, task.choices, form)),
        ]

    def verify(self, trajectory: Trajectory, answer: McqaAnswer) -> Reward:
        task = McqaTask.model_validate(trajectory.task)
        text = output_text(trajectory)
        extracted = extract(text, task.grading_mode, task.choices, task.patterns, task.answer_prefix)
        accuracy = float(extracted == answer.expected_answer.strip().upper())
        return Reward(
            reward=accuracy,
            components={"accuracy": accuracy, "no_answer": float(extracted is None)},
            details={"extracted_answer": extracted},
        )


def _question(question: str, options: Options, form: str) -> str:
    lines = [f"{letter}: {text}" for letter, text in options.entries]
    return "\n".join([question, *lines, form])
