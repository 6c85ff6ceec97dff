"""A table as a session sees it: the base table, with the session's changes laid over it.

Only the changes are remembered, so a session's record stays small however large the tables are.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel, Field

from odradek_workplace_assistant.replies import Refused
from odradek_workplace_assistant.tables import Row, Table, row_print

_DIGITS = 16


class Edits(BaseModel):
    """What a session did to one table.

    `changed`: new values by the record's place in the base table. `removed`: places in the base table, in the order in
    which they were removed. `closed`: how many of them had been when a record was last added. `added`: records
    behind those of the base table; None is one that was removed since another was last added.
    """

    changed: dict[int, dict[str, str]] = Field(default_factory=dict)
    removed: list[int] = Field(default_factory=list)
    closed: int = 0
    added: list[dict[str, str | None] | None] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A base table and the edits over it. What changes the sheet changes the edits, never the table."""

    table: Table
    edits: Edits

    def rows(self) -> list[Row]:
        """All records, in their order."""
        return [row for _, row in self._present()]

    def find(self, id: str) -> Row | None:
        """The first record of that id."""
        column = self.table.columns.id
        return next((row for row in self.rows() if row[column] == id), None)

    def update(self, id: str, column: str, value: str) -> bool:
        """Set a cell of each record of that id; False where there is none."""
        places = self._places(id)
        for place in places:
            if place < len(self.table.rows):
                self._change(place, column, value)
            elif (added := self.edits.added[place - len(self.table.rows)]) is not None:
                added[column] = value
        return bool(places)

    def remove(self, id: str) -> bool:
        """Remove each record of that id; False where there is none."""
        places = self._places(id)
        for place in places:
            if place < len(self.table.rows):
                self.edits.changed.pop(place, None)
                self.edits.removed.append(place)
            else:
                self.edits.added[place - len(self.table.rows)] = None
        return bool(places)

    def append(self, row: Row) -> None:
        """Add a record behind the others; cells that it lacks are empty."""
        whole = {column: row.get(column) for column in self.table.header}
        self.edits.added = [*(row for row in self.edits.added if row is not None), whole]
        self.edits.closed = len(self.edits.removed)

    def next_id(self, digits: int = 0) -> str:
        """One more than the greatest id, as texts compare.

        Raises:
            Refused: that id is no number: somebody set it.
        """
        column = self.table.columns.id
        greatest = max((row[column] or "" for row in self.rows()), default="0")
        try:
            return str(int(greatest) + 1).zfill(digits)
        except ValueError as error:
            raise Refused(f"There is no ID after {greatest!r}.") from error

    def print(self) -> str:
        """16 hexadecimal digits, the same for two sheets exactly if their records and these records' numbers are.

        A record's number is its place, gaps of removed records counted, until adding one closes the gaps. In a table
        that does not renumber, gaps stay and added records are all number 0.
        """
        digest = hashlib.sha256()
        for number, content in self._numbered():
            digest.update(b"%d %d " % (number, len(content)))
            digest.update(content)
        return digest.hexdigest()[:_DIGITS]

    def _numbered(self) -> Iterator[tuple[int, bytes]]:
        base, prints = len(self.table.rows), self.table.prints
        renumbers = self.table.columns.renumbers
        closed = set(self.edits.removed[: self.edits.closed]) if renumbers else set()
        numbers: dict[int, int] = {}
        for place in range(base + len(self.edits.added)):
            if place not in closed:
                numbers[place] = len(numbers) if renumbers or place < base else 0
        for place, row in self._present():
            known = place < base and place not in self.edits.changed
            yield numbers[place], prints[place] if known else row_print(row)

    def _present(self) -> Iterator[tuple[int, Row]]:
        """All records with their places; those of added ones follow the base table's."""
        changed, removed = self.edits.changed, set(self.edits.removed)
        for place, row in enumerate(self.table.rows):
            if place not in removed:
                yield place, {**row, **changed[place]} if place in changed else row
        for place, added in enumerate(self.edits.added, start=len(self.table.rows)):
            if added is not None:
                yield place, added

    def _places(self, id: str) -> list[int]:
        column = self.table.columns.id
        return [place for place, row in self._present() if row[column] == id]

    def _change(self, place: int, column: str, value: str) -> None:
        cells = self.edits.changed.setdefault(place, {})
        cells[column] = value
        if self.table.rows[place][column] == value:
            del cells[column]
        if not cells:
            del self.edits.changed[place]
