"""The output of an analysis: a table with its method, as text, CSV or JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from textwrap import fill
from typing import Any, NamedTuple

from podium.compliance.reporting.json_text import json_text
from podium.compliance.tools.store.queries.formats import Format
from podium.compliance.tools.store.queries.render import cell, render, text_table

SCHEMA = "podium.analysis/1"

UNOFFICIAL = "Derived by podium: not an official MLPerf® result, and not verified by MLCommons."
"""The notice that every derived number must have."""

Row = Mapping[str, Any]


class Shown(NamedTuple):
    """A column of the text: its name, its heading, and the digits of its numbers.

    `form` formats a value in a special way; data formats have the number.
    """

    name: str
    heading: str = ""
    digits: int = 4
    form: Callable[[Any], str] | None = None

    def cell(self, row: Row) -> Any:
        """The value in the text: whole numbers stay numbers, others are cut to their digits."""
        value = row.get(self.name)
        if self.form is not None:
            return None if value is None else self.form(value)
        return float(f"{value:.{self.digits}g}") if isinstance(value, float) else value


class Analysis(NamedTuple):
    """The rows of one analysis.

    `by` are the columns by which rows are grouped, in order; `shown` are the other columns of the
    text, which has no room for all. `notes` state the method and omissions.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Row]
    by: Sequence[str] = ()
    shown: Sequence[Shown] = ()
    notes: Sequence[str] = ()

    def render(self, form: Format, wide: int) -> str:
        """The table in a format; CSV has only the rows."""
        if form is Format.JSON:
            document = {"schema": SCHEMA, "analysis": self.name, "title": self.title}
            rows = [{name: row.get(name) for name in self.columns} for row in self.rows]
            return json_text({**document, "notes": [*self.notes, UNOFFICIAL], "rows": rows})
        if form is Format.CSV:
            rows_of = [[row.get(name) for name in self.columns] for row in self.rows]
            return render(self.columns, rows_of, form)
        return self._text(wide)

    def _text(self, wide: int) -> str:
        pieces = [fill(self.title, wide) + "\n"]
        shown = self.shown or [Shown(name) for name in self.columns if name not in self.by]
        heads = [column.heading or column.name for column in shown]

        def group(row: Row) -> tuple[str, ...]:
            return tuple(cell(row.get(name)) for name in self.by)

        for names, rows in groupby(self.rows, group):
            head = " · ".join(name for name in names if name not in ("", "-"))
            table = text_table(
                heads, [[column.cell(row) for column in shown] for row in rows], wide
            )
            head = fill(head, wide, subsequent_indent="  ")
            pieces.append(f"{head}\n{table}" if head else table)
        if not self.rows:
            pieces.append("the store has no results for this comparison\n")
        notes = (fill(note, wide, subsequent_indent="  ") for note in [*self.notes, UNOFFICIAL])
        pieces.append("\n".join(notes) + "\n")
        return "\n".join(pieces)
