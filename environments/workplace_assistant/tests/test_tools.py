"""What each tool answers, as NeMo Gym's server words it."""

import json

import pytest

from odradek import ToolError
from odradek.tools import InvalidArguments
from odradek_workplace_assistant import WorkplaceAssistant
from odradek_workplace_assistant.toolkits.toolkit import Office

CRM = "customer_relationship_manager"
BOARD = "project_management"


class Desk:
    """An office, and its tools by name."""

    def __init__(self):
        self.office = Office()

    async def __call__(self, tool, /, **arguments):
        result = await WorkplaceAssistant().call(self.office, tool, json.dumps(arguments))
        self.refused = result.is_error
        return json.loads(result.content)["output"]


@pytest.fixture
def desk():
    return Desk()


async def field(desk, tool, **arguments):
    [value] = (await desk(tool, **arguments)).values()
    return value


async def test_the_directory_finds_parts_of_names_in_any_case(desk):
    find = "company_directory_find_email_address"
    assert await desk(find, name="RaJ") == ["raj.patel@atlas.com"]
    assert await desk(find, name="kofi|lena") == ["kofi.mensah@atlas.com", "lena.schmidt@atlas.com"]
    assert await desk(find, name="zacharias") == []
    assert await desk(find) == await desk(find, name="") == "Name not provided."


async def test_an_email_is_read_by_field(desk):
    read = "email_get_email_information_by_id"
    assert await desk(read, email_id="00000057", field="sender/recipient") == {
        "sender/recipient": "carlos.rodriguez@atlas.com"
    }
    assert await desk(read, email_id="00000057", field="sender") == (
        "Field 'sender' not found. Available fields: "
        "email_id, inbox/outbox, sender/recipient, subject, sent_datetime, body"
    )
    assert await desk(read, email_id="57", field="body") == "Email not found."
    assert await desk(read, email_id="", field="body") == "Email ID not provided."


async def test_emails_are_searched_by_words_and_days_the_newest_first(desk):
    search = "email_search_emails"
    found = await desk(search, query="CARLOS prototype", page_size=2)
    assert found["pagination"] == {"total_emails": 3, "page": 1, "page_size": 2, "total_pages": 2}
    times = [email["sent_datetime"] for email in found["emails"]]
    assert times == sorted(times, reverse=True)
    assert times[0] == "2023-11-28 11:04:41"
    assert (await desk(search, query="carlos prototype", page_size=2, page=9))["pagination"]["page"] == 2
    day = await desk(search, query="carlos prototype", date_min="2023-11-28", date_max="2023-11-28 01:00:00")
    assert [email["email_id"] for email in day["emails"]] == ["00000057"]
    assert await desk(search, query="carlos prototype", date_min="2023-11-29") == "No emails found."
    assert "is no date" in await desk(search, date_min="yesterday")
    assert await desk(search, page_size=0) == "page_size must be 1 or more."


async def test_a_sent_email_is_in_the_outbox(desk):
    assert await desk("email_send_email", recipient="Ada@X.org", subject="Hi", body="Hello") == (
        "Email sent successfully."
    )
    [email] = (await desk("email_search_emails", query="ada@x.org"))["emails"]
    greatest = max(
        int(email["email_id"]) for email in (await desk("email_search_emails", page_size=500))["emails"]
    )
    assert email == {
        "email_id": str(greatest),
        "inbox/outbox": "outbox",
        "sender/recipient": "ada@x.org",
        "subject": "Hi",
        "sent_datetime": "2023-11-30 23:59:00",
        "body": "Hello",
    }


@pytest.mark.parametrize(
    ("recipient", "body", "said"),
    [
        ("ada", "Hi", "Invalid recipient email address."),
        ("ada@x", "Hi", "Invalid recipient email address."),
        ("ada@x.org", "", "Recipient, subject, or body not provided."),
    ],
)
async def test_emails_need_an_address_and_a_text(desk, recipient, body, said):
    assert await desk("email_send_email", recipient=recipient, subject="Hi", body=body) == said
    assert desk.refused


async def test_forwarding_and_replying_send_and_deleting_removes(desk):
    assert await desk("email_forward_email", email_id="00000057", recipient="ada@x.org") == (
        "Email forwarded successfully."
    )
    assert await desk("email_reply_email", email_id="00000057", body="Fine.") == "Email replied successfully."
    reply, forward = (await desk("email_search_emails", date_min="2023-11-30", page_size=2))["emails"][::-1]
    subject = "Task Update on Develop prototype for report generation"
    assert (forward["subject"], forward["sender/recipient"]) == (f"FW: {subject}", "ada@x.org")
    assert (reply["subject"], reply["sender/recipient"]) == (f"RE: {subject}", "carlos.rodriguez@atlas.com")
    assert reply["body"] == "Fine."
    assert await desk("email_delete_email", email_id="00000057") == "Email deleted successfully."
    for tool, arguments in {
        "email_delete_email": {},
        "email_reply_email": {"body": "Fine."},
        "email_forward_email": {"recipient": "ada@x.org"},
    }.items():
        assert await desk(tool, email_id="00000057", **arguments) == "Email not found."


async def test_events_are_searched_by_text_and_time_the_latest_first(desk):
    search = "calendar_search_events"
    found = await desk(search, time_min="2023-12-01", time_max="2023-12-01 23:59:00")
    assert [event["event_start"] for event in found["events"]] == [
        "2023-12-01 16:00:00",
        "2023-12-01 14:30:00",
        "2023-12-01 09:30:00",
    ]
    assert found["events"][0]["event_id"] == "00000252"
    exact = await desk(
        search, query="ROADMAP", time_min="2023-12-01T16:00:00", time_max="2023-12-01 16:00:00"
    )
    assert exact["pagination"]["total_events"] == 1
    by_address = await desk(search, query="tom.becker", time_min="2023-12-01", time_max="2023-12-02")
    assert by_address["events"] == exact["events"]
    assert await desk(search, query="Martians") == "No events found."
    assert await desk(search, time_min="soon") == "Invalid time_min format. Expected YYYY-MM-DD HH:MM:SS."
    assert await desk(search, time_max="2023-12-01T10:00:00Z") == (
        "Invalid time_max format. Expected YYYY-MM-DD HH:MM:SS."
    )


async def test_an_event_is_created_changed_and_deleted(desk):
    new = {"event_name": "Tea", "event_start": "2023-12-08 15:00:00", "duration": "30"}
    event_id = await desk("calendar_create_event", participant_email="ADA@x.org", **new)
    assert len(event_id) == 8
    read = {"event_id": event_id, "field": "participant_email"}
    assert await field(desk, "calendar_get_event_information_by_id", **read) == "ada@x.org"
    update = {"event_id": event_id, "field": "duration", "new_value": "45"}
    assert await desk("calendar_update_event", **update) == "Event updated successfully."
    read = {"event_id": event_id, "field": "duration"}
    assert await field(desk, "calendar_get_event_information_by_id", **read) == "45"
    assert await desk("calendar_delete_event", event_id=event_id) == "Event deleted successfully."
    assert await desk("calendar_delete_event", event_id=event_id) == "Event not found."
    assert await desk("calendar_get_event_information_by_id", **read) == "Event not found."


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"event_name": ""}, "Event name not provided."),
        ({"duration": ""}, "Event duration not provided."),
        ({"duration": "half an hour"}, "Invalid duration format. Expected a number of minutes."),
        ({"duration": "0"}, "Duration must be a positive number of minutes."),
        ({"event_start": "tomorrow"}, "Invalid event_start format. Expected YYYY-MM-DD HH:MM:SS."),
    ],
)
async def test_events_need_a_name_a_start_and_a_duration(desk, change, said):
    new = {
        "event_name": "Tea",
        "participant_email": "a@b.c",
        "event_start": "2023-12-08 15:00:00",
        "duration": "30",
    }
    assert await desk("calendar_create_event", **new | change) == said
    assert desk.refused


@pytest.mark.parametrize(
    ("event_id", "field", "value", "said"),
    [
        ("252", "duration", "30", "Invalid event ID format. Expected 8-digit ID."),
        (
            "00000252",
            "event_id",
            "30",
            "Invalid field. Available fields are: event_name, participant_email, event_start, duration",
        ),
        ("00000252", "event_start", "noon", "Invalid event_start format. Expected YYYY-MM-DD HH:MM:SS."),
        ("00000252", "duration", "-1", "Duration must be a positive number of minutes."),
        ("00000252", "duration", "", "Event ID, field, or new value not provided."),
    ],
)
async def test_events_take_what_fits_a_field(desk, event_id, field, value, said):
    assert await desk("calendar_update_event", event_id=event_id, field=field, new_value=value) == said


async def test_visits_are_counted_by_day(desk):
    days = {"time_min": "2023-11-01", "time_max": "2023-11-03"}
    total = await desk("analytics_total_visits_count", **days)
    assert list(total) == sorted(total)
    assert set(total) <= {"2023-11-01", "2023-11-02", "2023-11-03"}
    assert total == await desk("analytics_traffic_source_count", **days)
    sources = ["direct", "referral", "search engine", "social media"]
    counts = [await desk("analytics_traffic_source_count", **days, traffic_source=s) for s in sources]
    assert {day: sum(count[day] for count in counts) for day in total} == total
    engaged = await desk("analytics_engaged_users_count", **days)
    assert all(0 <= engaged[day] <= total[day] for day in total)
    assert sum((await desk("analytics_total_visits_count")).values()) == 240
    assert await desk("analytics_total_visits_count", time_min="2024-01-01") == {}


async def test_what_is_known_of_visitors_adds_up(desk):
    day = {"time_min": "2023-11-20", "time_max": "2023-11-20"}
    tables = WorkplaceAssistant().tables
    visits = [visit for visit in tables.visits if visit["date_of_visit"] == "2023-11-20"]
    seconds = [int(visit["session_duration_seconds"]) for visit in visits]
    average = await desk("analytics_get_average_session_duration", **day)
    assert average == {"2023-11-20": sum(seconds) / len(seconds)}
    [known] = await desk("analytics_get_visitor_information_by_id", visitor_id=visits[0]["visitor_id"])
    assert known == {**visits[0], "user_engaged": visits[0]["user_engaged"] == "True"}
    assert await desk("analytics_get_visitor_information_by_id", visitor_id="x") == "Visitor not found."


async def test_a_plot_is_a_file_with_its_question_as_its_name(desk):
    plot = {
        "time_min": "2023-11-01",
        "time_max": "2023-11-02",
        "value_to_plot": "user_engaged",
        "plot_type": "bar",
    }
    file = "plots/2023-11-01_2023-11-02_user_engaged_bar.png"
    assert await desk("analytics_create_plot", **plot) == file
    assert desk.office.plots == [file]
    assert (await desk("analytics_create_plot", **plot | {"plot_type": "pie"})).startswith(
        "Plot type must be one of"
    )
    assert (await desk("analytics_create_plot", **plot | {"value_to_plot": "x"})).startswith(
        "Value to plot must be"
    )
    assert await desk("analytics_create_plot", **plot | {"time_min": ""}) == "Start date not provided."
    assert desk.office.plots == [file]


async def test_tasks_are_searched_by_all_that_is_given(desk):
    search = f"{BOARD}_search_tasks"
    found = await desk(search, board="design", list_name="Completed")
    assert len(found) == 3
    assert {task["board"] for task in found} == {"Design"}
    [one] = await desk(
        search,
        task_name="icons",
        assigned_to_email="Omar.Haddad@atlas.com",
        board="design",
        list_name="completed",
    )
    assert one in found
    assert (
        await desk(search, assigned_to_email="omar.haddad@atlas")
        == "Invalid email format for assigned_to_email."
    )
    assert await desk(search) == await desk(search, board="") == "No search parameters provided."
    assert await desk(search, task_name="Martians") == []


async def test_a_task_is_created_changed_and_deleted(desk):
    new = {"task_name": "Rest", "list_name": "Backlog", "due_date": "2023-12-24", "board": "Design"}
    task_id = await desk(f"{BOARD}_create_task", assigned_to_email="Tom.Becker@atlas.com", **new)
    assert task_id == "00000120"
    read = {"task_id": task_id, "field": "assigned_to_email"}
    assert await field(desk, f"{BOARD}_get_task_information_by_id", **read) == "tom.becker@atlas.com"
    update = {"task_id": task_id, "field": "list_name", "new_value": "Completed"}
    assert await desk(f"{BOARD}_update_task", **update) == "Task updated successfully."
    read = {"task_id": task_id, "field": "list_name"}
    assert await field(desk, f"{BOARD}_get_task_information_by_id", **read) == "Completed"
    assert await desk(f"{BOARD}_delete_task", task_id=task_id) == "Task deleted successfully."
    assert await desk(f"{BOARD}_delete_task", task_id=task_id) == "Task not found."
    assert (
        await desk(f"{BOARD}_get_task_information_by_id", task_id="00000119", field="due")
        == "Field not found."
    )


LISTS = "List not valid. Please choose from: 'Backlog', 'In Progress', 'In Review', 'Completed'."
BOARDS = "Board not valid. Please choose from: 'Back end', 'Front end', 'Design'."
TEAM = "Assignee email not valid. Please choose from the list of team members."


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("list_name", "backlog", LISTS),
        ("board", "Ops", BOARDS),
        ("assigned_to_email", "ada@x.org", TEAM),
    ],
)
async def test_tasks_are_on_a_list_of_a_board_and_somebody_of_the_team_has_them(desk, field, value, said):
    task = {
        "task_name": "Rest",
        "assigned_to_email": "tom.becker@atlas.com",
        "list_name": "Backlog",
        "due_date": "2023-12-24",
        "board": "Design",
    }
    assert await desk(f"{BOARD}_create_task", **task | {field: value}) == said
    assert await desk(f"{BOARD}_update_task", task_id="00000119", field=field, new_value=value) == said


async def test_a_task_s_other_refusals(desk):
    assert (
        await desk(f"{BOARD}_update_task", task_id="00009999", field="nope", new_value="x")
        == "Task not found."
    )
    assert (
        await desk(f"{BOARD}_update_task", task_id="00000119", field="nope", new_value="x")
        == "Field not valid."
    )
    empty = dict.fromkeys(["task_name", "assigned_to_email", "list_name", "due_date", "board"], "")
    assert await desk(f"{BOARD}_create_task", **empty) == "Missing task details."


async def test_customers_are_searched_by_patterns_and_dates(desk):
    search = f"{CRM}_search_customers"
    leads = await desk(search, assigned_to_email="akira", product_interest="software", status="lead")
    assert {customer["customer_id"] for customer in leads["customers"]} == {
        "00000095",
        "00000080",
        "00000035",
    }
    old = {"last_contact_date_max": "2023-11-02", "status": "Proposal", "product_interest": "Hardware"}
    found = await desk(search, **old, page_size=3)
    assert found["pagination"] == {"total_customers": 5, "page": 1, "page_size": 3, "total_pages": 2}
    second = await desk(search, **old, page_size=3, page=2)
    assert len(second["customers"]) == 2
    day = await desk(search, follow_up_by_min="2023-10-29", follow_up_by_max="2023-10-30")
    assert [customer["customer_name"] for customer in day["customers"]] == ["Casey Wilson"]
    assert await desk(search, customer_email="casey@") == "No customers found."
    assert (await desk(search)).startswith("No search parameters provided.")


async def test_a_customer_is_added_changed_and_deleted(desk):
    new = {"customer_name": "Ada", "assigned_to_email": "Raj.Patel@atlas.com", "status": "Lead"}
    assert await desk(f"{CRM}_add_customer", **new, customer_email="ADA@X.org") == "00000200"
    [ada] = (await desk(f"{CRM}_search_customers", customer_email="ada@x"))["customers"]
    assert ada == {
        "customer_id": "00000200",
        "assigned_to_email": "raj.patel@atlas.com",
        "customer_name": "Ada",
        "customer_email": "ada@x.org",
        "customer_phone": None,
        "last_contact_date": None,
        "product_interest": None,
        "status": "Lead",
        "follow_up_by": None,
        "notes": "",
    }
    update = {"customer_id": "00000200", "field": "product_interest", "new_value": "Training"}
    assert await desk(f"{CRM}_update_customer", **update) == "Customer updated successfully."
    found = await desk(f"{CRM}_search_customers", customer_name="^Ada$", product_interest="Training")
    assert found["pagination"]["total_customers"] == 1
    assert await desk(f"{CRM}_delete_customer", customer_id="00000200") == "Customer deleted successfully."
    assert await desk(f"{CRM}_delete_customer", customer_id="00000200") == "Customer not found."


@pytest.mark.parametrize(
    ("customer_id", "field", "value", "said"),
    [
        (
            "00000014",
            "status",
            "won",
            "Status not valid. Please choose from: 'Qualified', 'Won', 'Lost', 'Lead', 'Proposal'",
        ),
        (
            "00000014",
            "product_interest",
            "Toys",
            "Product interest not valid. Please choose from: 'Software', 'Hardware', 'Services', 'Consulting', 'Training'",
        ),
        ("00000999", "notes", "x", "Customer not found."),
        ("00000014", "notes", "", "Customer ID, field, or new value not provided."),
    ],
)
async def test_customers_take_what_fits_a_field(desk, customer_id, field, value, said):
    assert await desk(f"{CRM}_update_customer", customer_id=customer_id, field=field, new_value=value) == said
    assert desk.refused


async def test_a_pattern_that_is_none_is_told(desk):
    assert "is no pattern to search for" in await desk("calendar_search_events", query="(")
    assert "may have 1000 characters" in await desk("calendar_search_events", query="a" * 1001)
    assert desk.refused


async def test_a_pattern_that_would_take_years_ends(desk):
    """One that did not would hold its worker for ever."""
    new = {"event_name": "a" * 60 + "!", "event_start": "2023-12-08 15:00:00", "duration": "30"}
    await desk("calendar_create_event", participant_email="a@b.c", **new)
    assert "takes too long" in await desk("calendar_search_events", query="(a|aa)+$")
    assert desk.refused


async def test_the_office_without_a_call_is_as_the_tables_are(desk):
    environment = WorkplaceAssistant()
    for name in ("email", "calendar", BOARD, CRM):
        sheet = environment.sheet(desk.office, name)
        assert sheet.rows() == list(sheet.table.rows)


def test_the_errors_of_tools_are_the_sdk_s():
    """So that the engine tells the model, and ends no attempt."""
    with pytest.raises(ToolError):
        WorkplaceAssistant().email_delete_email(Office(), "x")
    with pytest.raises(InvalidArguments):
        WorkplaceAssistant().read_arguments("email_delete_email", '{"email_id": null}')
