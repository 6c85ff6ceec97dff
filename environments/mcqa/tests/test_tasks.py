"""Which tasks can be graded."""

import pytest
from pydantic import ValidationError

from odradek_mcqa.environment import McqaTask

SHAPES = [{"A": "Circle"}, {"B": "Square"}]


@pytest.mark.parametrize(
    "task",
    [
        {},
        {"options": []},
        {"options": [{"A": None}, {"first": "Circle"}]},
        {"options": SHAPES, "template_metadata": {"output_regex": 1}},
        {"options": SHAPES, "template_metadata": {"output_regex": ["a", 1]}},
        {"options": SHAPES, "template_metadata": {"answer_prefix": ["a"]}},
        {"options": SHAPES, "grading_mode": "by_feeling"},
    ],
)
def test_tasks_that_can_not_be_graded_are_refused(task):
    with pytest.raises(ValidationError):
        McqaTask.model_validate(task)
