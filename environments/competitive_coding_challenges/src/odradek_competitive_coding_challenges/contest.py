"""What a contest's task is graded by: tests, and subtasks that are worth points."""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import BaseModel, Field, JsonValue, model_validator


class Aggregation(StrEnum):
    """How a subtask's tests make its points."""

    MIN = "min"
    """All points when every test is passed, else none."""
    SUM_TESTS = "sum_tests"
    """A point for each test that is passed."""


class ContestTest(BaseModel):
    input: str
    output: str
    group: str | None = Field(default=None, description="`sample` or `secret`, say.")


class Subtask(BaseModel):
    aggregation: Aggregation = Aggregation.MIN
    score: float = Field(default=1.0, gt=0, description="The points of `min`.")
    test_names: list[str] = Field(min_length=1)

    def points(self, passed: Mapping[str, bool]) -> float:
        """What a program gets; `passed` has each of its tests that was tried."""
        results = [passed.get(name, False) for name in self.test_names]
        return float(sum(results)) if self.aggregation is Aggregation.SUM_TESTS else self.score * all(results)

    @property
    def most_points(self) -> float:
        return float(len(self.test_names)) if self.aggregation is Aggregation.SUM_TESTS else self.score


class Contest(BaseModel):
    """The fields that an entry of NeMo Gym's file of tests has for a problem, as far as programs alone need them.

    A row without them can be played, and gives no reward.
    """

    all_tests: dict[str, ContestTest] = Field(default_factory=dict)
    subtasks: dict[str, Subtask] = Field(default_factory=dict)
    grader_files: list[JsonValue] = Field(default_factory=list, description="Must be empty.")

    @model_validator(mode="after")
    def _check(self) -> "Contest":
        if self.grader_files:
            raise ValueError(
                "grader_files: checkers, managers and stubs are not run here; tasks whose outputs are compared are"
            )
        if bool(self.all_tests) != bool(self.subtasks):
            raise ValueError("all_tests and subtasks go together")
        missing = {name for subtask in self.subtasks.values() for name in subtask.test_names} - set(
            self.all_tests
        )
        if missing:
            raise ValueError(f"subtasks name tests that all_tests lacks: {', '.join(sorted(missing))}")
        return self

    def graded(self, subtask: str | None) -> dict[str, Subtask]:
        """The subtasks that count for a task: its own, or all when it names none."""
        return self.subtasks if subtask is None else {subtask: self.subtasks[subtask]}
