"""Random sessions in NeMo Gym's own tools and in ours: the same answers, and the same verdict on pairs of them.

Played where ODRADEK_NEMO_GYM_WHEEL names the wheel of nemo-gym 0.7.0 and pandas is installed; the wheel itself is not.
"""

import importlib
import json
import math
import os
import random
import sys
import zipfile

import pytest

from odradek_workplace_assistant import WorkplaceAssistant
from odradek_workplace_assistant.outcome import outcome
from odradek_workplace_assistant.replies import Refused
from odradek_workplace_assistant.toolkits.email import NOW
from odradek_workplace_assistant.toolkits.toolkit import Office

WHEEL = os.environ.get("ODRADEK_NEMO_GYM_WHEEL")
if not WHEEL:
    pytest.skip("ODRADEK_NEMO_GYM_WHEEL does not name nemo-gym's wheel", allow_module_level=True)
pandas = pytest.importorskip("pandas")

SESSIONS = int(os.environ.get("ODRADEK_NEMO_GYM_SESSIONS", "200"))
INSIDE = "resources_servers/workplace_assistant/"
FAILS_OVER_EMPTY_CELLS = "Cannot mask with non-boolean array containing NA"
"""What the server's searches say when a record that was added has nothing in the column."""

KITS = ["email", "calendar", "analytics", "project_management", "customer_relationship_manager"]
CHANGES = ("send", "delete", "forward", "reply", "create", "update", "add")
DATES = ["2023-10-05", "2023-11-12", "2023-11-30", "2023-12-01", "2023-12-04"]
TEXTS = ["Hello", "hello", "Ärger", "00000199"]
ADDRESSES = ["raj.patel@atlas.com", "Kofi.Mensah@atlas.com", "ada@x.org", "ada"]
VALUES = [
    "Lead",
    "Lost",
    "won",
    "Software",
    "Backlog",
    "Completed",
    "Design",
    "Back end",
    "30",
    "0",
    *ADDRESSES,
]
FIELDS = [
    *["subject", "body", "event_name", "participant_email", "event_start", "duration", "task_name", "board"],
    *["list_name", "due_date", "assigned_to_email", "status", "product_interest", "notes", "customer_email"],
]
CHOICES = {
    "query": ["kofi", "raj task", "sync|review", "atlas", "Training", ""],
    "name": ["raj", "A.*i", "kofi|nadia", ""],
    "field": FIELDS,
    "new_value": [*VALUES, *TEXTS, *DATES],
    "duration": ["30", " 60 ", "0", "x"],
    "value_to_plot": ["total_visits", "visits_direct", "visits"],
    "plot_type": ["bar", "line", "Bar"],
    "traffic_source": ["direct", "search engine", "x"],
    "visitor_id": ["0860", "4426", "x"],
    "list_name": ["Backlog", "Completed", "in progress"],
    "board": ["Design", "Back end", "design"],
    "product_interest": ["Software", "hard|soft"],
    "status": ["Lead", "won"],
    "page": [1, 2, 0, 99],
    "page_size": [1, 5, 50],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The server's `utils` module, unpacked from the wheel, reading each of its tables once."""
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(WHEEL) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith(INSIDE)])
    read, known = pandas.read_csv, {}

    def read_once(path, **options):
        if path not in known:
            known[path] = read(path, **options)
        return known[path].copy()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pandas, "read_csv", read_once)
        patch.setattr(sys, "path", [str(folder), *sys.path])
        yield importlib.import_module("resources_servers.workplace_assistant.utils")


@pytest.fixture(scope="module")
def environment(server):
    return WorkplaceAssistant({"tables": WHEEL})


def some_id(environment, name, dice):
    """An id that is in the tables, one that a new record may have, or none."""
    sheets = {sheet.columns.id: sheet for sheet in environment.tables.sheets.values()}
    rows = sheets[name].rows
    greatest = max(row[name] for row in rows)
    new = str(int(greatest) + 1)
    near = [rows[0][name], rows[-1][name], greatest, new, new.zfill(8), "nope"]
    return dice.choice([*near, *(row[name] for row in dice.sample(rows, 6))])


def value(environment, name, dice):
    if name in CHOICES:
        return dice.choice(CHOICES[name])
    if name.endswith("_id") and name != "visitor_id":
        return some_id(environment, name, dice)
    if "date" in name or "time" in name or "follow_up" in name or name == "event_start":
        return dice.choice(DATES) + dice.choice(["", "", " 09:30:00"])
    return dice.choice(ADDRESSES if "email" in name or name == "recipient" else TEXTS)


def action(environment, kit, dice):
    """A call, most likely of `kit` and one that changes something."""
    tools = [tool.function for tool in environment.tools()]
    if dice.random() < 0.7:
        tools = [tool for tool in tools if tool.name.startswith(kit)]
    writes = [tool for tool in tools if any(f"_{change}_" in tool.name for change in CHANGES)]
    tool = dice.choice(writes if dice.random() < 0.6 else tools)
    required = tool.parameters.get("required", [])
    names = [name for name in tool.parameters["properties"] if name in required or dice.random() < 0.4]
    arguments = {name: value(environment, name, dice) for name in names}
    return {"name": tool.name, "arguments": json.dumps(arguments)}


def varied(actions, environment, kit, dice):
    """The same session, or nearly."""
    other = [act for act in actions if any(f"_{change}_" in act["name"] for change in CHANGES)]
    match dice.randrange(5):
        case 0:
            dice.shuffle(other)
        case 1:
            other.insert(dice.randint(0, len(other)), action(environment, kit, dice))
        case 2 if other:
            other.pop(dice.randrange(len(other)))
        case 3:
            other = [{**act, "arguments": act["arguments"].replace("Hello", "HELLO")} for act in other]
    return other


def plain(answer):
    """A data frame's answer as JSON has it."""
    if isinstance(answer, dict):
        return {name: plain(item) for name, item in answer.items()}
    if isinstance(answer, list):
        return [plain(item) for item in answer]
    if hasattr(answer, "item"):
        return answer.item()
    return None if isinstance(answer, float) and math.isnan(answer) else answer


def comparable(answer):
    """An answer without what differs from one processor or call to the next.

    The server sorts emails of the same time as it comes, and all that are sent have the same; once asked for an average
    of all days, it has numbers in place of texts.
    """
    if isinstance(answer, dict) and "emails" in answer:
        emails = [email if email["sent_datetime"] != NOW else NOW for email in answer["emails"]]
        return {**answer, "emails": emails}
    if isinstance(answer, list) and answer and "session_duration_seconds" in answer[0]:
        return [
            {**visit, "session_duration_seconds": float(visit["session_duration_seconds"])}
            for visit in answer
        ]
    return answer


def answers_of_server(server, actions):
    tools = server.get_tools(KITS)["functions"]
    for act in actions:
        try:
            yield plain(tools[act["name"]](**json.loads(act["arguments"])))
        except Exception as error:  # noqa: BLE001 - as the server's route does
            yield f"Error executing tool '{act['name']}': {error}"


def answers(environment, office, actions):
    for act in actions:
        try:
            arguments = environment.read_arguments(act["name"], act["arguments"])
            yield json.loads(getattr(environment, act["name"])(office, **arguments).content)["output"]
        except Refused as refused:
            yield refused.reason


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(SESSIONS))
def test_a_session_goes_as_in_the_server(server, environment, seed):
    dice = random.Random(seed)
    kit = dice.choice(KITS)
    actions = [action(environment, kit, dice) for _ in range(dice.randint(1, 8))]
    others = varied(actions, environment, kit, dice)
    office, other = Office(), Office()
    ours, theirs = answers(environment, office, actions), answers_of_server(server, actions)
    for our, their in zip(ours, theirs, strict=True):
        assert comparable(our) == comparable(their) or FAILS_OVER_EMPTY_CELLS in str(their)
    list(answers(environment, other, others))
    same = outcome(environment, office).prints == outcome(environment, other).prints
    assert same == server.is_correct(actions, others, None)
