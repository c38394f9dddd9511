"""A description of the tables and views of a store, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from podium.compliance.tools.store.queries.views import VIEWS
from podium.compliance.tools.store.schema import SQL, TABLES, VERSION


def described() -> str:
    """Every table with its columns, every view with its SQL."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield f"Version {VERSION} of the tables."
    for table in TABLES:
        yield from ("", f"### `{table.name}`", "", table.says, "", "| column | type | |")
        yield "|---|---|---|"
        for column in table.columns:
            yield f"| `{column.name}` | {SQL[column.kind]} | {column.says} |"
    for view in VIEWS:
        yield from ("", f"### `{view.name}` (a view)", "", view.says)
        yield from ("", "```sql", view.sql, "```")
