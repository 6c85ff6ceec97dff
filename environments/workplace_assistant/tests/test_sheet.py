"""Changes laid over a table do what the same changes do to the table itself."""

import json
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek_workplace_assistant.replies import Refused
from odradek_workplace_assistant.sheet import Edits, Sheet
from odradek_workplace_assistant.tables import SHEETS, Table

COLUMNS = SHEETS["project_management"]
HEADER = tuple(sorted(COLUMNS.names))


def record(id, name="Tidy", board="Design"):
    cells = {"task_id": id, "task_name": name, "board": board}
    return {column: cells.get(column) for column in HEADER}


def table(size=4, renumbers=True):
    rows = tuple(record(f"{number:08}") for number in range(size))
    return Table(replace(COLUMNS, renumbers=renumbers), HEADER, rows)


@dataclass
class Plain:
    """The table itself, each record with its number: what NeMo Gym's data frames come to."""

    renumbers: bool
    rows: list = field(default_factory=list)

    def update(self, id, column, value):
        for _, row in self.rows:
            if row["task_id"] == id:
                row[column] = value

    def remove(self, id):
        self.rows = [(number, row) for number, row in self.rows if row["task_id"] != id]

    def append(self, row):
        self.rows.append((0, dict(row)))
        if self.renumbers:
            self.rows = [(number, row) for number, (_, row) in enumerate(self.rows)]

    def compared(self):
        return [
            (number, [v if v is None or k == "board" else v.lower() for k, v in row.items()])
            for number, row in self.rows
        ]


IDS = st.sampled_from([f"{number:08}" for number in range(7)])
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("update"),
            IDS,
            st.sampled_from(["task_name", "board", "task_id"]),
            st.sampled_from(["Tidy", "tidy", "Design", "00000001", "00000005"]),
        ),
        st.tuples(st.just("remove"), IDS),
        st.tuples(st.just("append"), IDS, st.sampled_from(["Tidy", "Sort"])),
    ),
    max_size=8,
)


def play(steps, renumbers):
    """The sheet and the plain table after the steps; the edits go through JSON between two of them."""
    base = table(renumbers=renumbers)
    plain = Plain(renumbers, [(number, dict(row)) for number, row in enumerate(base.rows)])
    edits = Edits()
    for name, *arguments in steps:
        edits = Edits.model_validate_json(edits.model_dump_json())
        changed = [record(*arguments)] if name == "append" else arguments
        getattr(Sheet(base, edits), name)(*changed)
        getattr(plain, name)(*changed)
    return Sheet(base, edits), plain


@given(STEPS, st.booleans())
def test_edits_over_a_table_equal_the_edited_table(steps, renumbers):
    sheet, plain = play(steps, renumbers)
    assert sheet.rows() == [row for _, row in plain.rows]
    assert sheet.table == table(renumbers=renumbers)


@given(STEPS, STEPS, st.booleans())
def test_prints_are_equal_exactly_where_the_tables_are(some, others, renumbers):
    (one, plain_one), (other, plain_other) = play(some, renumbers), play(others, renumbers)
    assert (one.print() == other.print()) == (plain_one.compared() == plain_other.compared())


@given(
    st.permutations([("remove", "00000001"), ("remove", "00000003"), ("update", "00000000", "board", "Ops")])
)
def test_the_order_of_changes_that_add_nothing_does_not_matter(steps):
    in_order = [("remove", "00000001"), ("remove", "00000003"), ("update", "00000000", "board", "Ops")]
    assert play(steps, True)[0].print() == play(in_order, True)[0].print()


def test_what_is_undone_leaves_no_trace():
    sheet, _ = play([("update", "00000001", "board", "Ops"), ("update", "00000001", "board", "Design")], True)
    assert sheet.edits == Edits()
    assert sheet.print() == Sheet(table(), Edits()).print()


def test_case_counts_in_some_columns_only():
    def name(column, value):
        return play([("update", "00000001", column, value)], True)[0].print()

    assert name("task_name", "SORT") == name("task_name", "sort")
    assert name("board", "OPS") != name("board", "ops")


def test_gaps_close_when_a_record_is_added_and_not_before():
    removed_first, _ = play([("remove", "00000001"), ("append", "00000009", "New")], True)
    added_first, _ = play([("append", "00000009", "New"), ("remove", "00000001")], True)
    assert removed_first.rows() == added_first.rows()
    assert removed_first.print() != added_first.print()
    removed_first, added_first = (
        play(steps, False)[0]
        for steps in (
            [("remove", "00000001"), ("append", "00000009", "New")],
            [("append", "00000009", "New"), ("remove", "00000001")],
        )
    )
    assert removed_first.print() == added_first.print()


def test_ids_go_up_from_the_greatest_that_is_there():
    sheet = Sheet(table(), Edits())
    assert (sheet.next_id(), sheet.next_id(8)) == ("4", "00000004")
    sheet.remove("00000003")
    assert sheet.next_id(8) == "00000003"
    sheet.update("00000002", "task_id", "first")
    with pytest.raises(Refused, match="no ID after 'first'"):
        sheet.next_id()
    assert Sheet(Table(COLUMNS, HEADER, ()), Edits()).next_id() == "1"


def test_edits_grow_with_the_changes_and_not_with_the_table():
    sizes = []
    for size in (10, 1000):
        sheet = Sheet(table(size), Edits())
        sheet.update("00000004", "task_name", "Sort")
        sheet.remove("00000002")
        sizes.append(len(sheet.edits.model_dump_json()))
    assert sizes[0] == sizes[1] < 120


def test_removing_again_and_again_does_not_make_edits_grow():
    sheet = Sheet(table(), Edits())
    lengths = []
    for _ in range(20):
        sheet.append(record(sheet.next_id(8)))
        sheet.remove("00000004")
        lengths.append(len(json.dumps(sheet.edits.model_dump())))
    assert all(before == after for before, after in pairwise(lengths[1:]))
