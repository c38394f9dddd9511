"""`podium.results`: stores of many rounds for Python programs.

    import podium

    store = podium.results.open("store")
    store.sql("SELECT benchmark, min(score) FROM valid GROUP BY benchmark").fetchall()

`open` returns a DuckDB connection: `.to_arrow_table()`, `.df()` (pandas) and `.pl()` (polars)
convert the answer of a query to a data frame, if these libraries are installed.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from podium.compliance.judging.options import Options
from podium.compliance.tools.store.building.session import build as _build
from podium.compliance.tools.store.index import read_index
from podium.compliance.tools.store.queries.connection import connect
from podium.compliance.tools.store.schema import TABLES, Column, Table

__all__ = ["TABLES", "Column", "Table", "build", "open", "rounds"]


def open(store: Path | str) -> Any:  # noqa: A001 - like the built-in for files
    """A DuckDB connection with a view for each table of a store (`TABLES`), `valid` and `fastest`.

    Nothing outside of the store can be read or written through it. Raises ComplianceError if the
    store does not exist or this version cannot read it.
    """
    return connect(Path(store))


def build(
    rounds: Sequence[Path | str], store: Path | str, *, jobs: int = 1, force: bool = False
) -> builtins.list[str]:
    """Add rounds, each a folder, to a store; returns the names of the rounds that were read.

    A round whose files did not change is only read again with `force`. Raises ComplianceError; the
    store is then unchanged.
    """
    options = Options(jobs=jobs)
    return _build([*map(Path, rounds)], Path(store), options, force=force).read


def rounds(store: Path | str) -> builtins.list[str]:
    """The names of the rounds in a store."""
    return [entry.name for entry in read_index(Path(store)).rounds]
