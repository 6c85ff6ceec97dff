import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.judging import Unscored
from odradek.rows import RowError
from odradek.testing import call, play, play_async, raw_call
from odradek_workplace_assistant import WorkplaceAssistant
from odradek_workplace_assistant.environment import WorkplaceAnswer
from odradek_workplace_assistant.tables import TablesError

PARTS = {"email", "calendar", "analytics", "project_management", "customer_relationship_manager"}
SEND = call("email_send_email", recipient="a@b.c", subject="Hi", body="Hello")
PLOT = call(
    "analytics_create_plot",
    time_min="2023-11-01",
    time_max="2023-11-02",
    value_to_plot="total_visits",
    plot_type="bar",
)


def row(*actions):
    true = [{"name": action.function.name, "arguments": action.function.arguments} for action in actions]
    return {"task": {"instruction": "Do it."}, "answer": {"ground_truth": true}}


def rows():
    return [json.loads(line) for line in WorkplaceAssistant().examples().read_text().splitlines()]


def true_calls(row):
    return [call(action["name"], **action["arguments"]) for action in row["answer"]["ground_truth"]]


def score(row, *replies):
    return play(WorkplaceAssistant(), row, [*replies, "Done."]).reward


def test_the_office_must_be_left_as_the_true_actions_leave_it():
    reward = score(row(SEND), SEND)
    assert reward.reward == 1.0
    assert set(reward.components) == {"accuracy", *PARTS}
    assert set(reward.components.values()) == {1.0}


def test_components_tell_which_part_of_the_office_is_not_as_it_should_be():
    reward = score(row(SEND, PLOT), PLOT)
    assert reward.reward == 0.0
    wrong = {name for name, value in reward.components.items() if not value}
    assert wrong == {"accuracy", "email"}


def test_letters_case_does_not_count():
    shouted = call("email_send_email", recipient="A@B.C", subject="HI", body="HELLO")
    assert score(row(SEND), shouted).reward == 1.0


def test_looking_things_up_changes_nothing():
    looked = [call("email_search_emails", query="kofi"), call("analytics_total_visits_count")]
    assert score(row(SEND), *looked, SEND).reward == 1.0


def test_what_is_done_too_much_counts():
    assert score(row(SEND), SEND, SEND).reward == 0.0
    assert score(row(SEND), SEND, PLOT).reward == 0.0
    assert score(row()).reward == 1.0


DELETE_MAIL = call("email_delete_email", email_id="00000057")
DELETE_EVENT = call("calendar_delete_event", event_id="00000252")
CREATE_EVENT = call(
    "calendar_create_event",
    event_name="Tea",
    participant_email="a@b.c",
    event_start="2023-12-08 15:00:00",
    duration="30",
)


def test_a_gap_is_closed_by_what_is_added_later_but_in_the_calendar():
    assert score(row(DELETE_MAIL, SEND), DELETE_MAIL, SEND).reward == 1.0
    assert score(row(DELETE_MAIL, SEND), SEND, DELETE_MAIL).reward == 0.0
    assert score(row(DELETE_EVENT, CREATE_EVENT), CREATE_EVENT, DELETE_EVENT).reward == 1.0


def test_what_is_done_in_different_parts_may_be_done_in_any_order():
    assert score(row(DELETE_EVENT, SEND, PLOT), PLOT, DELETE_EVENT, SEND).reward == 1.0


def test_a_mistake_that_is_undone_is_none():
    update = "customer_relationship_manager_update_customer"
    wrong = call(update, customer_id="00000014", field="status", new_value="Lost")
    back = call(update, customer_id="00000014", field="status", new_value="Qualified")
    assert score(row(), wrong).reward == 0.0
    assert score(row(), wrong, back).reward == 1.0


@pytest.mark.parametrize(
    "refused",
    [
        raw_call("email_delete_email", "{"),
        raw_call("email_delete_email", '{"email_id": 57}'),
        raw_call("email_delete_email", "{}"),
        call("email_delete_email", email_id="00000057", now=True),
        call("email_delete_email", email_id="00009999"),
        call("email_delete_emails", email_id="00000057"),
    ],
)
def test_a_call_that_is_refused_is_told_and_changes_nothing(refused):
    played = play(WorkplaceAssistant(), row(), [refused, "Sorry."])
    assert played.observations[0]
    assert played.reward.reward == 1.0


def test_null_is_as_good_as_left_out():
    search = raw_call(
        "email_search_emails", '{"query": "kofi", "date_min": null, "page": null, "page_size": 1}'
    )
    played = play(WorkplaceAssistant(), row(), [search, "Done."])
    found = json.loads(played.observations[0])["output"]
    assert found["pagination"] == {"total_emails": 26, "page": 1, "page_size": 1, "total_pages": 26}


def test_the_verifier_needs_no_tables():
    """What it compares is in the evidence and in the sealed answer."""
    environment = WorkplaceAssistant()
    played = play(environment, row(SEND), [SEND, "Done."])
    answer = WorkplaceAnswer.model_validate(environment.split(row(SEND)).answer)
    elsewhere = WorkplaceAssistant({"tables": "/nowhere"})
    assert elsewhere.verify(played.trajectory, answer) == played.reward


def test_a_session_is_not_opened_without_its_tables():
    elsewhere = WorkplaceAssistant({"tables": "/nowhere"})
    with pytest.raises(TablesError, match="neither a folder nor a wheel"):
        elsewhere.reset(elsewhere.Task(), seed=0)


def test_a_session_with_other_tables_than_the_answer_s_is_not_scored():
    environment = WorkplaceAssistant()
    played = play(environment, row(SEND), [SEND, "Done."])
    answer = WorkplaceAnswer.model_validate(environment.split(row(SEND)).answer)
    evidence = {**played.trajectory.evidence, "tables": "0123456789abcdef"}
    record = played.trajectory.model_copy(update={"evidence": evidence})
    with pytest.raises(Unscored, match="must see the same files"):
        environment.verify(record, answer)


@pytest.mark.parametrize(
    ("action", "field", "said"),
    [
        (
            {"name": "email_delete_email", "arguments": {"email_id": "00000499"}},
            "ground_truth.1",
            "Email not found",
        ),
        ({"name": "email_burn", "arguments": {}}, "ground_truth.1", "no such tool"),
        ({"name": "email_delete_email", "arguments": {"email_id": 57}}, "ground_truth.1", "not of type"),
        ({"name": "email_delete_email", "arguments": "{"}, "answer.ground_truth.1.arguments", "EOF"),
        ({"arguments": {}}, "answer.ground_truth.1.name", "required"),
    ],
)
def test_a_row_whose_true_actions_can_t_be_carried_out_is_refused(action, field, said):
    bad = row(SEND)
    bad["answer"]["ground_truth"].append(action)
    with pytest.raises(RowError, match=said) as caught:
        WorkplaceAssistant().split(bad)
    assert caught.value.field == field


def test_the_model_is_not_told_what_is_expected():
    split = WorkplaceAssistant().split(row(call("email_delete_email", email_id="00000057")))
    told = json.dumps([split.task, [message.model_dump() for message in split.messages]])
    assert "00000057" not in told
    assert split.answer["expected"]["prints"].keys() == PARTS


def test_a_session_s_record_holds_what_was_changed_and_no_table():
    played = play(
        WorkplaceAssistant(), row(), [SEND, PLOT, call("email_delete_email", email_id="00000057"), "Done."]
    )
    assert len(json.dumps(played.trajectory.final_state)) < 500
    assert len(json.dumps(played.trajectory.evidence)) < 300
    looked = play(WorkplaceAssistant(), row(), [call("email_search_emails", page_size=50), "Done."])
    assert looked.trajectory.final_state == {"edits": {}, "plots": []}


ACTIONS = [action for row in rows() for action in true_calls(row)]


@settings(max_examples=30)
@given(st.lists(st.sampled_from(ACTIONS), max_size=6), st.lists(st.sampled_from(ACTIONS), max_size=6))
async def test_sessions_come_to_what_their_calls_come_to_alone(true, done):
    """The state that went through the log, call by call, is the one of carrying the calls out at once."""
    environment = WorkplaceAssistant()
    try:
        split = environment.split(row(*true))
    except RowError:
        return
    played = await play_async(environment, row(*true), [*done, "Done."])
    answer = WorkplaceAnswer.model_validate(split.answer)
    replayed = environment.verify(played.trajectory.model_copy(update={"evidence": None}), answer)
    assert replayed == played.reward
    if true == done:
        assert played.reward.reward == 1.0


def test_there_are_enough_examples():
    assert len(rows()) >= 30
    assert len({row["id"] for row in rows()}) == len(rows())
    assert {row["task"]["category"] for row in rows()} == PARTS | {"several"}


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_each_example_is_solved_by_its_true_actions_alone(row):
    true = true_calls(row)
    assert score(row, *true).reward == 1.0
    assert score(row, *true, SEND).reward == 0.0
    assert score(row, *true[1:]).reward == float(not true)
