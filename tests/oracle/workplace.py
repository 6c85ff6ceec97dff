"""`workplace_assistant`'s recordings, which come without what would be right."""

from odradek import Environment, JsonObject
from odradek.testing import play
from tests.oracle.recordings import Recording

_CRM = "customer_relationship_manager"
_LAST_DAY = "2023-11-30"

TRUE_ACTIONS: dict[str, list[JsonObject]] = {
    "Create a bar chart of total visits since November 30": [
        {
            "name": "analytics_create_plot",
            "arguments": {
                "time_min": _LAST_DAY,
                "time_max": _LAST_DAY,
                "value_to_plot": "total_visits",
                "plot_type": "bar",
            },
        }
    ],
    "We need to move all customers that haven't responded": [],
    "Delete Casey Wilson from the crm": [
        {"name": f"{_CRM}_delete_customer", "arguments": {"customer_id": "00000014"}}
    ],
    "Add Dakota Thomas as a new lead in the crm and assign them to Nadia": [
        {
            "name": f"{_CRM}_add_customer",
            "arguments": {
                "customer_name": "Dakota Thomas",
                "assigned_to_email": "nadia.moreau@atlas.com",
                "status": "Lead",
            },
        }
    ],
    "Delete my last email from kofi": [{"name": "email_delete_email", "arguments": {"email_id": "00000259"}}],
}
"""What solves the recorded tasks, by how they begin: worked out by hand."""


def with_true_actions(recording: Recording) -> JsonObject:
    """The row of a recording's task, as it would be with its true actions."""
    asked = recording.rollout.request.messages[-1].text
    true = next(actions for beginning, actions in TRUE_ACTIONS.items() if asked.startswith(beginning))
    return {**recording.task, "ground_truth": [*true]}


def replay_with_true_actions(environment: Environment, recording: Recording) -> float | None:
    """The recorded replies, played once more; no reward where a tool does not answer as recorded."""
    played = play(environment, with_true_actions(recording), recording.rollout.replies)
    as_recorded = played.observations == recording.rollout.observations
    return played.reward.reward if played.reward is not None and as_recorded else None
