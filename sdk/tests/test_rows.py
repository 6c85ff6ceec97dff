"""Rows in both formats, split into task and answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from odradek import Environment, Reward, RowError, Trajectory
from odradek_schemas.messages import Message


class Sums(Environment):
    name = "sums"

    class Task(BaseModel):
        terms: list[int]
        note: str | None = None

    class Answer(BaseModel):
        total: int

    def prompt(self, task: Task) -> list[Message]:
        return [Message(role="user", content="+".join(map(str, task.terms)))] if task.terms else []

    def verify(self, trajectory: Trajectory, answer: Answer) -> Reward:
        return Reward(reward=0.0)


class Open(Sums):
    name = "open"
    Answer = None


INPUT = {"input": "What is 1+2?"}
OWN = {"task": {"terms": [1, 2]}, "answer": {"total": 3}}


def test_an_own_row():
    row = Sums().split({**OWN, "id": "a", "sampling": {"temperature": 0.5}})
    assert row.task == {"terms": [1, 2], "note": None}
    assert row.answer == {"total": 3}
    assert [message.text for message in row.messages] == ["1+2"]
    assert (row.id, row.sampling.temperature, row.tools) == ("a", 0.5, [])


def test_an_own_row_with_messages_and_tools_keeps_them():
    tools = [{"type": "function", "function": {"name": "add"}}]
    row = Sums().split({**OWN, "messages": [{"role": "user", "content": "Hi"}], "tools": tools})
    assert [message.text for message in row.messages] == ["Hi"]
    assert [spec.function.name for spec in row.tools] == ["add"]


@pytest.mark.parametrize("where", ["flat", "verifier_metadata", "task_data"])
def test_a_gym_row_keeps_its_fields_anywhere(where):
    fields = {"terms": [1, 2], "total": 3, "source": "elsewhere"}
    extra = fields if where == "flat" else {where: fields}
    row = Sums().split({"responses_create_params": INPUT, **extra, "agent_ref": {"name": "x"}, "uuid": "u1"})
    assert row.task == {"terms": [1, 2], "note": None}
    assert row.answer == {"total": 3}
    assert [message.text for message in row.messages] == ["What is 1+2?"]
    assert row.id == "u1"


def test_the_answer_is_in_nothing_but_the_answer():
    row = Sums().split({"responses_create_params": INPUT, "terms": [1, 2], "total": 31337})
    assert "31337" not in row.model_copy(update={"answer": None}).model_dump_json()


def test_a_gym_row_without_input_is_prompted():
    row = Sums().split({"responses_create_params": {}, "terms": [1, 2], "total": 3})
    assert [message.text for message in row.messages] == ["1+2"]


@pytest.mark.parametrize(
    ("row", "field", "reason"),
    [
        ({}, "", "neither 'responses_create_params'"),
        ({"task": 1}, "task", "dictionary"),
        ({**OWN, "answers": {}}, "answers", "not permitted"),
        ({**OWN, "task": {"terms": "x"}}, "task.terms", "list"),
        ({**OWN, "task": {"terms": [1, "x"]}}, "task.terms.1", "integer"),
        ({**OWN, "task": {"terms": [1], "notes": "x"}}, "task.notes", "not permitted"),
        ({**OWN, "answer": {}}, "answer.total", "required"),
        ({"task": {"terms": [1]}}, "answer", "is missing"),
        ({**OWN, "task": {"terms": []}}, "messages", "are missing"),
        ({**OWN, "messages": [{"role": "robot"}]}, "messages.0.role", "assistant"),
        ({"responses_create_params": None}, "responses_create_params", "object"),
        ({"responses_create_params": INPUT, "total": 3}, "terms", "required"),
        ({"responses_create_params": INPUT, "terms": [1]}, "total", "required"),
        (
            {"responses_create_params": {"input": [{"role": "robot"}]}, "terms": [1], "total": 3},
            "responses_create_params.input.0.role",
            "robot",
        ),
        (
            {"responses_create_params": {**INPUT, "temperature": "hot"}, "terms": [1], "total": 3},
            "responses_create_params.temperature",
            "number",
        ),
    ],
)
def test_a_bad_row_names_field_and_reason(row, field, reason):
    with pytest.raises(RowError) as caught:
        Sums().split(row)
    assert caught.value.field == field
    assert reason in caught.value.reason


def test_several_problems_are_counted():
    with pytest.raises(RowError, match="and 1 more"):
        Sums().split({**OWN, "task": {"terms": ["x", "y"]}})


def test_an_environment_without_answer_takes_none():
    assert Open().split({"task": {"terms": [1]}}).answer is None
    with pytest.raises(RowError, match="takes no answer"):
        Open().split(OWN)
    assert Open().split({"responses_create_params": INPUT, "terms": [1], "total": 3}).answer is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=10,
)


@given(
    st.dictionaries(
        st.sampled_from(
            ["task", "answer", "messages", "tools", "id", "responses_create_params", "terms", "total"]
        ),
        json_values,
    )
)
def test_any_row_is_split_or_refused(row):
    try:
        split = Sums().split(row)
    except RowError:
        return
    assert split.messages
    assert set(split.task) == {"terms", "note"}
