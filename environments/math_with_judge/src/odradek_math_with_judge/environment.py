"""Maths problems in one turn: symbolic comparison first, a judge where it finds no equality."""

from pydantic import BaseModel, Field

from odradek import Environment, Message, Reward, Trajectory, Unscored, Verification
from odradek.transcript import output_text
from odradek.verifiers import mathematics
from odradek.verifiers.boxes import last_box
from odradek.verifiers.judges import Asking, Judge
from odradek.verifiers.mathematics import Symbolic, UnreadableAnswer
from odradek_schemas.failures import FailureKind

_FORM = "Solve this problem. Put the final answer, and nothing else, in \\boxed{}."


class MathTask(BaseModel):
    question: str = Field(min_length=1, description="The problem, as a judge is shown it.")


class MathAnswer(BaseModel):
    expected_answer: str = Field(
        min_length=1, description="In LaTeX; `\\(...\\)` or `$...$` around it is taken off."
    )


class MathSettings(BaseModel):
    """Who judges what math-verify can't tell to be equal."""

    judge_model: str | None = Field(
        default=None, description="The judge's model; none: math-verify alone decides."
    )
    judge_votes: int = Field(default=1, ge=1, le=16, description="Votes on each of the two orders.")


class MathWithJudge(Environment):
    """One problem, one answer in a box; 1 for the expected one, however it is written, else 0."""

    name = "math_with_judge"
    harness = "single_turn"
    Task = MathTask
    Answer = MathAnswer
    Settings = MathSettings
    libraries = ("math-verify", "latex2sympy2-extended", "sympy")
    settings: MathSettings

    def prompt(self, task: MathTask) -> list[Message]:
        return [Message(role="user", content=f"{_FORM}\n\n{task.question}")]

    def warm_up(self) -> None:
        mathematics.load()

    def verify(self, trajectory: Trajectory, answer: MathAnswer) -> Verification:
        text = output_text(trajectory)
        given = last_box(text)
        if given is None or not given.strip():
            return _reward(Symbolic(equal=False), no_answer=True)
        symbolic = self._symbolic(text, answer.expected_answer)
        if symbolic.equal or self.settings.judge_model is None:
            return _reward(symbolic)
        question = MathTask.model_validate(trajectory.task).question
        return _reward(symbolic, judged=(yield from self._judged(question, answer.expected_answer, given)))

    def _symbolic(self, text: str, expected: str) -> Symbolic:
        """An expected answer that is no mathematics is left to the judge, if there is one."""
        try:
            return mathematics.compare(text, expected)
        except UnreadableAnswer as error:
            if self.settings.judge_model is None:
                raise Unscored.because(
                    f"{error}; --set judge_model=... lets a judge decide", FailureKind.ANSWER_UNREADABLE
                ) from error
            return Symbolic(equal=False)

    def _judged(self, question: str, expected: str, given: str) -> Asking[bool]:
        judge = Judge(model=self.settings.judge_model, votes=self.settings.judge_votes)
        return (yield from judge.same("equal", question, expected, given, tie=False))


def _reward(symbolic: Symbolic, judged: bool | None = None, no_answer: bool = False) -> Reward:
    components = {"symbolic": float(symbolic.equal), "no_answer": float(no_answer)}
    if judged is not None:
        components["judged"] = float(judged)
    return Reward(
        reward=float(symbolic.equal or bool(judged)),
        components=components,
        details={"extracted_answer": symbolic.extracted, "timed_out": symbolic.timed_out},
    )
