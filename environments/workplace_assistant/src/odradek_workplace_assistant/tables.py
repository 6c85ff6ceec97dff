"""The tables that every session begins with, read from CSV files.

The files and their columns are those of the WorkBench benchmark (Styles et al. 2024, arXiv:2405.00823) as NeMo Gym
0.7's `workplace_assistant` server keeps them. A folder of them, or the `nemo-gym` wheel as it was downloaded, can be
named; else the package's own small office is taken.
"""

import csv
import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal

Row = Mapping[str, str | None]
"""A record by column; None where its cell is empty."""

SheetName = Literal["email", "calendar", "project_management", "customer_relationship_manager"]

_IN_WHEEL = "resources_servers/workplace_assistant/csv_data/"
_SUBFOLDERS = ("", "processed/", "raw/")
_OWN = Path(__file__).with_name("office")
_DIGITS = 16
_MOST_OFFICES = 8


class TablesError(ValueError):
    """The tables can't be read."""

    def __init__(self, where: object, reason: str) -> None:
        super().__init__(f"tables in {where}: {reason}")


@dataclass(frozen=True)
class Columns:
    """What a file must hold. `renumbers`: whether adding a record closes the gaps that removed ones left."""

    file: str
    id: str
    names: frozenset[str]
    renumbers: bool = True


SHEETS: Mapping[SheetName, Columns] = {
    "email": Columns(
        "emails.csv",
        "email_id",
        frozenset({"email_id", "inbox/outbox", "sender/recipient", "subject", "sent_datetime", "body"}),
    ),
    "calendar": Columns(
        "calendar_events.csv",
        "event_id",
        frozenset({"event_id", "event_name", "participant_email", "event_start", "duration"}),
        renumbers=False,
    ),
    "project_management": Columns(
        "project_tasks.csv",
        "task_id",
        frozenset({"task_id", "task_name", "assigned_to_email", "list_name", "due_date", "board"}),
    ),
    "customer_relationship_manager": Columns(
        "customer_relationship_manager_data.csv",
        "customer_id",
        frozenset(
            {
                "customer_id",
                "assigned_to_email",
                "customer_name",
                "customer_email",
                "customer_phone",
                "last_contact_date",
                "product_interest",
                "status",
                "follow_up_by",
                "notes",
            }
        ),
    ),
}
_VISITS = Columns(
    "analytics_data.csv",
    "visitor_id",
    frozenset(
        {
            "date_of_visit",
            "visitor_id",
            "page_views",
            "session_duration_seconds",
            "traffic_source",
            "user_engaged",
        }
    ),
)
_ADDRESSES = "email_addresses.csv"


@dataclass(frozen=True)
class Table:
    """One file's records, in its order."""

    columns: Columns
    header: tuple[str, ...]
    rows: tuple[Row, ...]

    @cached_property
    def prints(self) -> tuple[bytes, ...]:
        """What each record is compared by."""
        return tuple(row_print(row) for row in self.rows)


@dataclass(frozen=True)
class Tables:
    """An office as it is before anybody does anything."""

    sheets: Mapping[SheetName, Table]
    visits: tuple[Row, ...]
    addresses: tuple[str, ...]

    @cached_property
    def print(self) -> str:
        """16 hexadecimal digits that differ where the tables do."""
        content = [[dict(row) for row in table.rows] for table in self.sheets.values()]
        text = json.dumps([content, [dict(row) for row in self.visits], self.addresses])
        return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


_CASE_COUNTS = frozenset({"status", "list_name", "board"})


def row_print(row: Row) -> bytes:
    """What two records are compared by: all their fields, the letters' case only where it tells states apart."""
    cells = [cell if cell is None or column in _CASE_COUNTS else cell.lower() for column, cell in row.items()]
    return json.dumps(cells).encode()


@lru_cache(_MOST_OFFICES)
def load_tables(where: str | None) -> Tables:
    """The tables in a folder or a wheel, read once and kept; None: the package's own.

    Raises:
        TablesError: a file is not there, or does not hold what it must.
    """
    folder = _folder(where)
    return Tables(
        sheets={name: _table(folder, columns) for name, columns in SHEETS.items()},
        visits=_table(folder, _VISITS).rows,
        addresses=tuple(line for line in _text(folder, _ADDRESSES).split() if line),
    )


def _folder(where: str | None) -> Path | zipfile.Path:
    if where is None:
        return _OWN
    path = Path(where).expanduser()
    if path.is_dir():
        return path
    try:
        return zipfile.Path(path, _IN_WHEEL)
    except (OSError, zipfile.BadZipFile) as error:
        raise TablesError(where, f"neither a folder nor a wheel: {error}") from error


def _text(folder: Path | zipfile.Path, name: str) -> str:
    for under in _SUBFOLDERS:
        file = folder.joinpath(f"{under}{name}")
        if file.is_file():
            try:
                return file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise TablesError(folder, f"{name} can't be read: {error}") from error
    raise TablesError(folder, f"{name} is not there, nor in a folder 'processed' or 'raw'")


def _table(folder: Path | zipfile.Path, columns: Columns) -> Table:
    reader = csv.reader(io.StringIO(_text(folder, columns.file), newline=""))
    header = next(reader, [])
    if frozenset(header) != columns.names or len(header) != len(columns.names):
        expected = ", ".join(sorted(columns.names))
        raise TablesError(folder, f"{columns.file} must have the columns {expected}; has {', '.join(header)}")
    return Table(columns, tuple(header), tuple(_records(folder, columns.file, header, reader)))


def _records(folder: object, name: str, header: list[str], lines: Iterable[list[str]]) -> Iterator[Row]:
    for number, cells in enumerate(lines, start=2):
        if len(cells) != len(header):
            reason = f"{name}, line {number}: {len(cells)} cells, expected {len(header)}"
            raise TablesError(folder, reason)
        yield {column: cell or None for column, cell in zip(header, cells, strict=True)}
