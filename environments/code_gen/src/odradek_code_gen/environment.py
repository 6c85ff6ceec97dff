"""Programming tasks in one turn."""

from collections import Counter
from collections.abc import Sequence

from pydantic import BaseModel, Field

from odradek import Environment, JsonObject, Message, Reward, Trajectory, Unscored
from odradek.transcript import output_text, replies
from odradek.verifiers.programs import CaseResult, Outcome, ProgramSettings, RunnerUnavailable, try_cases
from odradek_code_gen.replies import code_block, mixes_reasoning
from odradek_code_gen.unit_tests import UnitTests

_PROMPT = """\
Solve the task below in Python. You may think first. End with the whole program in one block of code:

```python
# your program
```

"""


class CodeGenTask(BaseModel):
    question: str | None = Field(default=None, description="None: the row brings its own messages.")
    difficulty: str | None = None
    hash_id: str | None = None
    dataset: str | None = None
    source: str | None = None


class CodeGenAnswer(BaseModel):
    unit_tests: UnitTests


class CodeGenSettings(ProgramSettings):
    reasoning_format_penalty: float = Field(
        default=0.0,
        description="The reward of a reply with a program, and with <think> where it does not belong.",
    )


class CodeGen(Environment):
    """One task, one program in Python; 1 when it passes every unit test, else 0."""

    name = "code_gen"
    harness = "single_turn"
    Task = CodeGenTask
    Answer = CodeGenAnswer
    Settings = CodeGenSettings

    settings: CodeGenSettings

    def prompt(self, task: CodeGenTask) -> list[Message]:
        return [] if task.question is None else [Message(role="user", content=_PROMPT + task.question)]

    def verify(self, trajectory: Trajectory, answer: CodeGenAnswer) -> Reward:
        code = code_block(output_text(trajectory))
        if not code:
            return Reward(reward=0.0, components={"accuracy": 0.0, "no_code": 1.0})
        results, details = self._tried(code, answer.unit_tests)
        accuracy = float(
            len(results) == len(answer.unit_tests.inputs) and results[-1].outcome is Outcome.PASSED
        )
        mixed = mixes_reasoning(replies(trajectory))
        return Reward(
            reward=self.settings.reasoning_format_penalty if mixed else accuracy,
            components={"accuracy": accuracy, "no_code": 0.0, "reasoning_format_violation": float(mixed)},
            details=details,
        )

    def _tried(self, code: str, tests: UnitTests) -> tuple[Sequence[CaseResult], JsonObject]:
        runner = self.settings.runner
        try:
            results = try_cases(tests.program(code), tests.cases(), runner, self.settings.limits)
        except RunnerUnavailable as error:
            raise Unscored.because(str(error)) from error
        outcomes = Counter(result.outcome.value for result in results)
        return results, {
            "tests": len(tests.inputs),
            "outcomes": dict(outcomes),
            "note": results[-1].note,
            "isolation": runner.name,
        }
