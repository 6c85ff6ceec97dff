"""Puzzles in one turn."""

import math

from pydantic import BaseModel, Field, field_validator

from odradek import Environment, JsonObject, Message, Reward, Trajectory, Unscored
from odradek.transcript import output_text
from odradek_reasoning_gym.replies import extract
from odradek_reasoning_gym.scoring import LibraryMissing, Scorer, UnknownDataset, entry, load, scorer

_PROMPT = """\
{question}

You may think first. Put your final answer, and nothing else, between <answer> and </answer>.
"""


class ReasoningGymTask(BaseModel):
    question: str = Field(min_length=1)


class ReasoningGymAnswer(BaseModel):
    """What the library keeps of a puzzle beside the question."""

    answer: str | None = Field(description="None: the scorer does without.")
    metadata: JsonObject = Field(description="`source_dataset` names the data set; the rest is the scorer's.")

    @field_validator("metadata")
    @classmethod
    def _check_metadata(cls, metadata: JsonObject) -> JsonObject:
        if not isinstance(metadata.get("source_dataset"), str):
            raise ValueError("source_dataset must be the name of a data set of reasoning-gym")
        return metadata

    @property
    def dataset(self) -> str:
        return str(self.metadata["source_dataset"])


class ReasoningGym(Environment):
    """One puzzle, one answer; the library's scorer gives from 0 to 1."""

    name = "reasoning_gym"
    harness = "single_turn"
    Task = ReasoningGymTask
    Answer = ReasoningGymAnswer
    libraries = ("reasoning-gym",)

    def prompt(self, task: ReasoningGymTask) -> list[Message]:
        return [Message(role="user", content=_PROMPT.format(question=task.question))]

    def warm_up(self) -> None:
        load()

    def verify(self, trajectory: Trajectory, answer: ReasoningGymAnswer) -> Reward:
        task = ReasoningGymTask.model_validate(trajectory.task)
        try:
            score = scorer(answer.dataset)
        except (LibraryMissing, UnknownDataset) as error:
            raise Unscored.because(str(error)) from error
        extracted = extract(output_text(trajectory))
        value, problem = _scored(score, extracted, entry(task.question, answer.answer, answer.metadata))
        return Reward(
            reward=value,
            components={"score": value, "unreadable": float(problem is not None)},
            details={"task_name": answer.dataset, "extracted_answer": extracted, "problem": problem},
        )


def _scored(score: Scorer, answer: str, item: JsonObject) -> tuple[float, str | None]:
    """The score, and what the scorer stumbled over: answers that it can't read are worth 0, as in NeMo Gym's server."""
    try:
        value = float(score(answer=answer, entry=item))
    except Exception as error:  # noqa: BLE001 - each of a hundred scorers raises its own
        return 0.0, f"{type(error).__name__}: {error}"[:500]
    return (value, None) if math.isfinite(value) else (0.0, f"the scorer gave {value}")
