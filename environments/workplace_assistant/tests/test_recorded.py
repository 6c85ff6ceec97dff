"""NeMo Gym's example tasks are solved by their own true actions, and its recorded tool outputs are ours."""

import pytest

from odradek.dialects.nemo_gym import read_rollout
from odradek.testing import play, raw_call
from odradek_workplace_assistant import WorkplaceAssistant
from odradek_workplace_assistant.environment import WorkplaceAnswer

NAME = "workplace_assistant"
CRM = "customer_relationship_manager"

TRUE_ACTIONS = {
    "Create a bar chart of total visits since November 30": [
        (
            "analytics_create_plot",
            {
                "time_min": "2023-11-30",
                "time_max": "2023-11-30",
                "value_to_plot": "total_visits",
                "plot_type": "bar",
            },
        )
    ],
    "We need to move all customers that haven't responded": [],
    "Delete Casey Wilson from the crm": [(f"{CRM}_delete_customer", {"customer_id": "00000014"})],
    "Add Dakota Thomas as a new lead in the crm and assign them to Nadia": [
        (
            f"{CRM}_add_customer",
            {
                "customer_name": "Dakota Thomas",
                "assigned_to_email": "nadia.moreau@atlas.com",
                "status": "Lead",
            },
        )
    ],
    "Delete my last email from kofi": [("email_delete_email", {"email_id": "00000259"})],
}
"""What solves the recorded tasks, by how they begin: worked out by hand, for the recordings come without."""


@pytest.fixture
def rollouts(gym_rows):
    """Each recorded rollout with a row of its task."""
    read = []
    for recorded in gym_rows(NAME, "example_rollouts.jsonl"):
        rollout = read_rollout(recorded)
        asked = rollout.request.messages[-1].text
        true = next(actions for text, actions in TRUE_ACTIONS.items() if asked.startswith(text))
        answer = {"ground_truth": [{"name": name, "arguments": given} for name, given in true]}
        row = {"task": {}, "answer": answer}
        read.append((rollout, row | {"messages": [m.model_dump() for m in rollout.request.messages]}))
    return read


def test_each_example_task_is_solved_by_its_true_actions_alone(gym_rows):
    rows = gym_rows(NAME, "example.jsonl")
    assert len(rows) == 5
    for row in rows:
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


def test_tools_are_called_as_the_rows_say(gym_rows):
    for row in gym_rows(NAME, "example.jsonl"):
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
