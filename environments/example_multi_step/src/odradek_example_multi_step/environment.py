"""Several tool calls, then one that hands in what they gave."""

from collections.abc import Iterable

from pydantic import BaseModel, Field

from odradek import Environment, InvalidArguments, Message, Reward, Trajectory, tool
from odradek.demonstrations import demonstrate
from odradek.transcript import function_calls


def synonym_value(synonym: str) -> int:
    """The value of a word: the sum of its characters' code points."""
    return sum(map(ord, synonym))


_SYSTEM = (
    "Call get_synonym_value for each synonym of the term, in the order of the list, never for the term itself. "
    "Then call extract_synonym_values once with all the values in that order."
)
_EXAMPLE_TABLE = [("Warm", "Heated"), ("Old", "Ancient"), ("Warm", "Toasty")]


def _question(term: str, synonyms: Iterable[tuple[str, str]]) -> str:
    table = "\n".join(f"{of} has a synonym {synonym}." for of, synonym in synonyms)
    return f"{table}\nUse get_synonym_value for each synonym of {term}, then extract_synonym_values."


_EXAMPLE = demonstrate(
    _question("Warm", _EXAMPLE_TABLE),
    [
        ("get_synonym_value", {"synonym": "Heated"}, {"synonym_value": synonym_value("Heated")}),
        ("get_synonym_value", {"synonym": "Toasty"}, {"synonym_value": synonym_value("Toasty")}),
        (
            "extract_synonym_values",
            {"synonym_values": [synonym_value("Heated"), synonym_value("Toasty")]},
            {"success": True},
        ),
    ],
    "Done.",
)


class ExampleMultiStep(Environment):
    """A word, a list of words with their synonyms, and the values of the word's synonyms to hand in, in order.

    The word itself is the minefield: its value is easy to look up and never asked for.
    """

    name = "example_multi_step"

    class Task(BaseModel):
        term: str | None = Field(default=None, description="None: the row brings its own messages.")
        synonyms: list[tuple[str, str]] = Field(default_factory=list, description="(term, synonym) pairs.")

    class Answer(BaseModel):
        expected_synonyms: list[str] = Field(default_factory=list)
        expected_synonym_values: list[int] = Field(min_length=1)
        minefield_label: str
        minefield_label_value: int

    class State(BaseModel):
        """Nothing is remembered between the calls."""

    def prompt(self, task: Task) -> list[Message]:
        if task.term is None:
            return []
        question = _question(task.term, task.synonyms)
        return [Message(role="system", content=_SYSTEM), *_EXAMPLE, Message(role="user", content=question)]

    @tool
    def get_synonym_value(self, state: State, synonym: str) -> dict[str, int]:
        """Get the value of one synonym."""
        return {"synonym_value": synonym_value(synonym)}

    @tool
    def extract_synonym_values(self, state: State, synonym_values: list[int]) -> dict[str, bool]:
        """Hand in the values of all synonyms, in order."""
        return {"success": True}

    def verify(self, trajectory: Trajectory, answer: Answer) -> Reward:
        expected, actual = answer.expected_synonym_values, self._handed_in(trajectory)
        accurate = actual == expected
        overlap = len(set(actual) & set(expected)) / len(expected)
        return Reward(
            reward=float(accurate),
            components={
                "accuracy": float(accurate),
                "set_overlap": overlap,
                "original_term_minefield_hit": float(answer.minefield_label_value in actual),
                "order_instruction_following_failure": float(not accurate and overlap == 1.0),
            },
            details={"parsed_synonym_values": list(actual)},
        )

    def _handed_in(self, trajectory: Trajectory) -> list[int]:
        """What the last extraction that was not refused gave; empty where there was none."""
        for call in reversed(function_calls(trajectory)):
            if call.name == "extract_synonym_values":
                try:
                    return list(self.read_arguments(call.name, call.arguments)["synonym_values"])
                except InvalidArguments:
                    continue
        return []
