"""Contest tasks in one turn."""

from collections import Counter
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, Field

from odradek import Environment, JsonObject, Message, Reward, RowError, TaskRow, Trajectory, Unscored
from odradek.dialects.nemo_gym import is_gym_row
from odradek.transcript import output_text
from odradek.verifiers.programs import (
    Binary,
    CaseResult,
    CompileError,
    Outcome,
    ProgramSettings,
    Runner,
    RunnerUnavailable,
    TextCase,
    compile_cpp,
    try_cases,
)
from odradek_competitive_coding_challenges.contest import Aggregation, Contest, Subtask
from odradek_competitive_coding_challenges.replies import program, with_headers

_PROMPT = """\
Solve the task below in C++17. You may think first. End with a whole program in one block of code, which reads the standard
input and writes the standard output:

```cpp
// your program
```

"""


class ContestTask(BaseModel):
    question: str | None = Field(default=None, description="None: the row brings its own messages.")
    competition_id: str | None = None
    problem_id: str
    name: str | None = None
    subtask: str | None = Field(default=None, description="The subtask that counts; None: all.")
    subtask_score: float | None = Field(default=None, description="The points to reach; None: all there are.")


class ContestSettings(ProgramSettings):
    reward_mode: Literal["binary", "fraction"] = Field(
        default="binary", description="1 for all points; or the share of the tests that are passed."
    )


class CompetitiveCodingChallenges(Environment):
    """One task, one program in C++; 1 when it gets all points, else 0."""

    name = "competitive_coding_challenges"
    harness = "single_turn"
    Task = ContestTask
    Answer = Contest
    Settings = ContestSettings

    settings: ContestSettings

    def split(self, row: JsonObject) -> TaskRow:
        """See `Environment`: a subtask that the tests don't have is refused, too.

        What NeMo Gym's rows have for an `id` is no name of the row: several have the same.
        """
        parsed = super().split(row)
        if is_gym_row(row):
            parsed = parsed.model_copy(update={"id": None})
        task, contest = ContestTask.model_validate(parsed.task), Contest.model_validate(parsed.answer)
        if contest.subtasks and task.subtask is not None and task.subtask not in contest.subtasks:
            raise RowError("subtask", f"{task.subtask!r} is none of {', '.join(contest.subtasks)}")
        return parsed

    def prompt(self, task: ContestTask) -> list[Message]:
        return [] if task.question is None else [Message(role="user", content=_PROMPT + task.question)]

    def verify(self, trajectory: Trajectory, answer: Contest) -> Reward:
        task = ContestTask.model_validate(trajectory.task)
        if not answer.all_tests:
            raise Unscored.because(
                f"the row of {task.problem_id!r} brings no tests: give it all_tests and subtasks, and score it again"
            )
        graded = answer.graded(task.subtask)
        source = program(output_text(trajectory))
        try:
            results = self._tried(source, answer, graded)
        except CompileError as error:
            return _reward(0.0, 0.0, compiled=False, details={"compiler": str(error)[-2000:]})
        except RunnerUnavailable as error:
            raise Unscored.because(str(error)) from error
        return self._scored(task, graded, results)

    def _tried(self, source: str, contest: Contest, graded: Mapping[str, Subtask]) -> dict[str, CaseResult]:
        """What came of the tests, by name; up to the first failure where that decides all."""
        runner, names = self.settings.runner, _names(graded)
        cases = [TextCase(contest.all_tests[name].input, contest.all_tests[name].output) for name in names]
        results = try_cases(
            _compiled(source, runner),
            cases,
            runner,
            self.settings.limits,
            all_of_them=self.settings.reward_mode == "fraction" or not _all_or_nothing(graded),
        )
        return dict(zip(names, results, strict=False))

    def _scored(
        self, task: ContestTask, graded: Mapping[str, Subtask], results: Mapping[str, CaseResult]
    ) -> Reward:
        passed = {name: result.outcome is Outcome.PASSED for name, result in results.items()}
        points = sum(subtask.points(passed) for subtask in graded.values())
        wanted = sum(subtask.most_points for subtask in graded.values())
        if task.subtask is not None and task.subtask_score is not None:
            wanted = task.subtask_score
        share = sum(passed.values()) / len(_names(graded))
        outcomes: JsonObject = dict(Counter(result.outcome.value for result in results.values()))
        details: JsonObject = {
            "tests": len(_names(graded)),
            "outcomes": outcomes,
            "isolation": self.settings.runner.name,
        }
        reward = share if self.settings.reward_mode == "fraction" else float(points >= wanted)
        return _reward(reward, points, compiled=True, details=details)


def _compiled(source: str, runner: Runner) -> Binary:
    """As it is, which is five times as fast, else with all headers, as NeMo Gym's server does it.

    Raises:
        CompileError: it compiles neither way.
        RunnerUnavailable: see `compile_cpp`.
    """
    try:
        return compile_cpp(source, runner)
    except CompileError:
        return compile_cpp(with_headers(source), runner)


def _all_or_nothing(graded: Mapping[str, Subtask]) -> bool:
    return len(graded) == 1 and all(subtask.aggregation is Aggregation.MIN for subtask in graded.values())


def _names(graded: Mapping[str, Subtask]) -> list[str]:
    """The tests of some subtasks, each once, in order."""
    return list(dict.fromkeys(name for subtask in graded.values() for name in subtask.test_names))


def _reward(reward: float, points: float, *, compiled: bool, details: JsonObject) -> Reward:
    components = {"accuracy": float(reward == 1.0), "points": points, "compiled": float(compiled)}
    return Reward(reward=reward, components=components, details=details)
