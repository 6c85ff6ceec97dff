"""Tables come from a folder or a wheel, and what is wrong with them is said."""

import shutil
import zipfile
from pathlib import Path

import pytest

import odradek_workplace_assistant
from odradek.rows import RowError
from odradek.testing import call, play
from odradek_workplace_assistant import WorkplaceAssistant
from odradek_workplace_assistant.tables import TablesError, load_tables

OWN = Path(odradek_workplace_assistant.__file__).with_name("office")
INSIDE = "resources_servers/workplace_assistant/csv_data"
RAW = "email_addresses.csv"


@pytest.fixture(autouse=True)
def _nothing_kept():
    load_tables.cache_clear()


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(OWN, tmp_path / "office"))


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / "nemo_gym-0.7.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file in OWN.glob("*.csv"):
            under = "raw" if file.name == RAW else "processed"
            archive.write(file, f"{INSIDE}/{under}/{file.name}")
    return path


def test_the_same_tables_are_the_same_wherever_they_lie(folder, wheel):
    prints = {load_tables(where).print for where in (None, str(folder), str(wheel))}
    assert len(prints) == 1
    (folder / RAW).write_text("ada@atlas.com\n")
    load_tables.cache_clear()
    assert load_tables(str(folder)).print not in prints


def test_files_may_lie_as_the_benchmark_has_them(folder):
    for file in [*folder.glob("*.csv")]:
        under = folder / ("raw" if file.name == RAW else "processed")
        under.mkdir(exist_ok=True)
        file.rename(under / file.name)
    assert load_tables(str(folder)).print == load_tables(None).print


def test_an_office_of_ones_own_is_played_in(folder):
    (folder / RAW).write_text("ada@example.org\n")
    environment = WorkplaceAssistant({"tables": str(folder)})
    row = {"task": {"instruction": "Who is Ada?"}, "answer": {"ground_truth": []}}
    played = play(environment, row, [call("company_directory_find_email_address", name="ada"), "Done."])
    assert played.observations == ['{"output":["ada@example.org"]}']
    assert played.reward.reward == 1.0


def remove(folder):
    (folder / "emails.csv").unlink()


def rename_a_column(folder):
    file = folder / "project_tasks.csv"
    file.write_text(file.read_text().replace("due_date", "due", 1))


def lose_a_cell(folder):
    file = folder / "calendar_events.csv"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:2], lines[2].rsplit(",", 1)[0], *lines[3:]]))


def write_bytes(folder):
    (folder / "analytics_data.csv").write_bytes(b"\xff\xfe")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (remove, "emails.csv is not there, nor in a folder 'processed' or 'raw'"),
        (rename_a_column, "project_tasks.csv must have the columns .*due_date.*; has task_id"),
        (lose_a_cell, "calendar_events.csv, line 3: 4 cells, expected 5"),
        (write_bytes, "analytics_data.csv can't be read: .*utf-8"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(folder, damage, said):
    damage(folder)
    with pytest.raises(TablesError, match=said):
        load_tables(str(folder))


def test_tables_that_are_no_folder_and_no_wheel_are_refused(tmp_path):
    with pytest.raises(TablesError, match="neither a folder nor a wheel"):
        load_tables(str(tmp_path / "nowhere"))
    text = tmp_path / "text"
    text.write_text("words")
    with pytest.raises(TablesError, match="neither a folder nor a wheel"):
        load_tables(str(text))


def test_rows_are_refused_with_what_is_wrong_with_the_tables(tmp_path):
    environment = WorkplaceAssistant({"tables": str(tmp_path)})
    row = {"task": {"instruction": "Do it."}, "answer": {"ground_truth": []}}
    with pytest.raises(RowError, match=r"emails.csv is not there"):
        environment.split(row)


def test_the_package_s_own_records_have_ids_of_their_own():
    tables = load_tables(None)
    for table in tables.sheets.values():
        ids = [row[table.columns.id] for row in table.rows]
        assert len(ids) == len(set(ids)) >= 48
