"""A store as tables of a DuckDB connection that cannot access files on the disk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from podium.compliance.errors import UsageFault
from podium.compliance.files.optional_imports import needed
from podium.compliance.tools.store.index import Index, read_index
from podium.compliance.tools.store.queries import sealed
from podium.compliance.tools.store.queries.views import VIEWS
from podium.compliance.tools.store.schema import TABLES

EXTRA = "results"
"""The extra that installs DuckDB."""

_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    # A query could otherwise name variables of podium's functions
    "python_enable_replacements": "false",
}

_EXPLAIN = re.compile(r"\s*EXPLAIN(\s+ANALYZE)?\b", re.IGNORECASE)

_LOCKS = (
    # Data that does not fit into memory would be written to the working directory
    "SET temp_directory=''",
    "SET enable_external_access=false",
    "SET lock_configuration=true",
)


class QueryFault(UsageFault):
    """SQL that cannot be executed."""


def connect(store: Path) -> Any:
    """A connection with each table of a store, and the views of `VIEWS`.

    No query on it can write a file, read a file outside of the store, use the network or load an
    extension: the connection can only open sealed copies in memory. If the system has no sealed
    files, it can open nothing and has the rows in memory. Raises UsageFault if the store does
    not exist, has another version or has damaged files.
    """
    index = read_index(store)
    duckdb = needed("duckdb", "a query", EXTRA)
    if not index.rounds:
        raise UsageFault(f"the store {store} has no rounds; add some: podium results build")
    files = {table.name: _files(store, index, table.name) for table in TABLES}
    connection = duckdb.connect(":memory:", config=_CONFIG)
    try:
        if sealed.CAN_SEAL:
            allowed = ", ".join(_quoted(path) for paths in files.values() for path in paths)
            connection.execute(f"SET allowed_paths=[{allowed}]")
        for name, paths in files.items():
            rows = connection.read_parquet(paths)
            rows.create_view(name) if sealed.CAN_SEAL else rows.create(name)
        for view in VIEWS:
            connection.execute(f"CREATE VIEW {view.name} AS {view.sql}")
        for lock in _LOCKS:
            connection.execute(lock)
    except (duckdb.Error, RuntimeError) as error:
        connection.close()
        _raise_interrupt(error)
        raise UsageFault(f"the store {store} cannot be read: {first_line(error)}") from None
    return connection


def ask(connection: Any, sql: str) -> Any:
    """The connection with the answer of one SELECT, or of EXPLAIN of one.

    Raises QueryFault for all other SQL.
    """
    with followed():
        statement = _single(connection, sql)
        kind = _kind(statement)
        if kind == "EXPLAIN":
            # The text is EXPLAIN and another statement, which EXPLAIN ANALYZE executes
            match = _EXPLAIN.match(statement.query)
            inner_query = statement.query[match.end() :] if match else ""
            kind = f"EXPLAIN of {_kind(_single(connection, inner_query))}"
        if kind not in ("SELECT", "EXPLAIN of SELECT"):
            raise QueryFault(f"the query is {kind}; expected one SELECT, or EXPLAIN of one SELECT")
        return connection.execute(statement)


def fetch(result: Any) -> list[Any]:
    """The rows of an answer; raises QueryFault if they cannot be computed or read."""
    with followed():
        rows: list[Any] = result.fetchall()
        return rows


@contextmanager
def followed() -> Iterator[None]:
    """Raise QueryFault for errors of DuckDB, and KeyboardInterrupt if a signal ended the query."""
    duckdb = needed("duckdb", "a query", EXTRA)
    try:
        yield
    # Bytes of a damaged file that are not UTF-8 raise a RuntimeError
    except (duckdb.Error, RuntimeError, UnicodeDecodeError) as error:
        _raise_interrupt(error)
        raise QueryFault(f"the query failed: {first_line(error)}") from None


def _raise_interrupt(error: Exception) -> None:
    """Raise KeyboardInterrupt if the error replaces one: DuckDB does so when a signal arrives."""
    if str(error) == "Query interrupted":
        raise KeyboardInterrupt from None


def _single(connection: Any, sql: str) -> Any:
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise QueryFault(f"{len(statements)} statements; expected one SELECT")
    return statements[0]


def _kind(statement: Any) -> str:
    return str(statement.type).rpartition(".")[2]


def first_line(error: Exception) -> str:
    """The message of a DuckDB error, without the query that it repeats."""
    lines = [
        line.strip()
        for line in sealed.as_stored(str(error)).split("\n\n")[0].splitlines()
        if line.strip()
    ]
    return "; ".join(lines[:2]) or type(error).__name__


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"


def _files(store: Path, index: Index, table: str) -> list[str]:
    folders = [store.absolute() / entry.folder for entry in index.rounds]
    return [sealed.readable(folder / f"{table}.parquet") for folder in folders]
