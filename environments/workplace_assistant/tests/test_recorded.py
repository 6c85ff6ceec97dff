"""NeMo Gym's example tasks are solved by their own true actions, and its recorded tool outputs are ours."""

import pytest

from odradek.testing import play, raw_call
from odradek_workplace_assistant import WorkplaceAssistant
from odradek_workplace_assistant.environment import WorkplaceAnswer
from tests.oracle.workplace import with_true_actions

NAME = "workplace_assistant"


@pytest.fixture
def rollouts(recordings):
    """Each recorded rollout with a row of its task."""
    return [(recording.rollout, with_true_actions(recording)) for recording in recordings(NAME)]


@pytest.fixture
def tasks(gym_rows):
    """The rows of the example tasks, which are not those of the recordings."""
    return gym_rows(NAME, "example.jsonl")


def test_each_example_task_is_solved_by_its_true_actions_alone(tasks):
    assert len(tasks) == 5
    for row in tasks:
        true = [raw_call(action["name"], action["arguments"]) for action in row["ground_truth"]]
        assert play(WorkplaceAssistant(), row, [*true, "Done."]).reward.reward == 1.0
        assert play(WorkplaceAssistant(), row, [*true[1:], "Done."]).reward.reward == 0.0
        assert play(WorkplaceAssistant(), row, ["I do not know."]).reward.reward == 0.0


def test_recorded_tool_outputs_and_rewards_come_again(rollouts):
    outputs = 0
    for rollout, row in rollouts:
        played = play(WorkplaceAssistant(), row, rollout.replies)
        assert played.observations == rollout.observations
        assert played.reward.reward == rollout.reward
        outputs += len(played.observations)
    assert outputs == 8


def test_a_recording_is_scored_by_its_calls(rollouts):
    """Without a session there is no evidence; the reward is the same."""
    environment = WorkplaceAssistant()
    for rollout, row in rollouts:
        trajectory = play(environment, row, rollout.replies).trajectory.model_copy(update={"evidence": None})
        answer = WorkplaceAnswer.model_validate(environment.split(row).answer)
        assert environment.verify(trajectory, answer).reward == rollout.reward


def test_tools_are_called_as_the_rows_say(tasks):
    for row in tasks:
        theirs = {
            tool["name"]: _shape(tool["parameters"]) for tool in row["responses_create_params"]["tools"]
        }
        ours = {tool.function.name: _shape(tool.function.parameters) for tool in WorkplaceAssistant().tools()}
        assert list(theirs) == list(ours)
        assert theirs == ours
        assert len(ours) == 27


def _shape(schema):
    """A schema without its prose."""
    properties = {
        name: {key: value for key, value in field.items() if key != "description"}
        for name, field in schema["properties"].items()
    }
    return {"required": [], **schema, "properties": properties}
