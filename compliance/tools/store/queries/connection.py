"""A store as views of a DuckDB connection that can reach nothing but the store's own files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from podium.compliance.errors import UsageFault
from podium.compliance.files.optional_imports import needed
from podium.compliance.tools.store.index import Index, read_index
from podium.compliance.tools.store.queries.views import VIEWS
from podium.compliance.tools.store.schema import TABLES

EXTRA = "results"
"""The extra that brings DuckDB."""

_MARK = b"PAR1"
"""How a Parquet file begins and ends."""

_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    # A query could name variables of podium's own functions
    "python_enable_replacements": "false",
}

_LOCKS = (
    # What does not fit into memory would be written to the working directory
    "SET temp_directory=''",
    "SET enable_external_access=false",
    "SET lock_configuration=true",
)


class QueryFault(UsageFault):
    """SQL that cannot be followed."""


def connect(store: Path) -> Any:
    """A connection with a view for each table of a store, and those of `VIEWS`.

    No query made on it reads or writes any other file, reaches the network or loads an extension.
    Raises UsageFault where there is no store, one of another version, or one with damaged files.
    """
    index = read_index(store)
    duckdb = needed("duckdb", "a query", EXTRA)
    if not index.rounds:
        raise UsageFault(f"the store {store} holds no rounds: podium results build")
    files = {table.name: [*_files(store, index, table.name)] for table in TABLES}
    connection = duckdb.connect(":memory:", config=_CONFIG)
    try:
        allowed = ", ".join(_quoted(path) for paths in files.values() for path in paths)
        connection.execute(f"SET allowed_paths=[{allowed}]")
        for name, paths in files.items():
            connection.read_parquet(paths).create_view(name)
        for view in VIEWS:
            connection.execute(f"CREATE VIEW {view.name} AS {view.sql}")
        for lock in _LOCKS:
            connection.execute(lock)
    except duckdb.Error as error:
        connection.close()
        raise UsageFault(f"the store {store} cannot be read: {first_line(error)}") from None
    return connection


def ask(connection: Any, sql: str) -> Any:
    """The connection with the answer of one SELECT; raises QueryFault for all other SQL."""
    duckdb = needed("duckdb", "a query", EXTRA)
    try:
        statements = connection.extract_statements(sql)
        if len(statements) != 1:
            raise QueryFault(f"{len(statements)} statements; a query is one SELECT")
        kinds = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
        if statements[0].type not in kinds:
            kind = str(statements[0].type).rpartition(".")[2]
            raise QueryFault(f"the query is a {kind}; a store is only read, by SELECT")
        return connection.execute(statements[0])
    except duckdb.Error as error:
        raise QueryFault(f"the query cannot be followed: {first_line(error)}") from None


def first_line(error: Exception) -> str:
    """What an error of DuckDB says, without the query that it repeats."""
    said = [line.strip() for line in str(error).split("\n\n")[0].splitlines() if line.strip()]
    return "; ".join(said[:2]) or type(error).__name__


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"


def _files(store: Path, index: Index, table: str) -> Iterator[str]:
    for entry in index.rounds:
        path = store.absolute() / entry.folder / f"{table}.parquet"
        if fault := _fault(path):
            raise UsageFault(f"{path} {fault}; build its round again: podium results build --force")
        yield str(path)


def _fault(path: Path) -> str:
    """What is wrong with a Parquet file by its ends; empty where nothing is."""
    if path.is_symlink() or path.parent.is_symlink():
        return "is a link, which is not followed"
    if path.exists() and not path.is_file():
        return "is not a regular file"
    try:
        with path.open("rb") as stream:
            head = stream.read(len(_MARK))
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - 8))
            tail = stream.read()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    length = int.from_bytes(tail[:4], "little")
    whole = head == _MARK and tail[4:] == _MARK and length + 12 <= size
    return "" if whole else "is damaged: it is no whole Parquet file"
