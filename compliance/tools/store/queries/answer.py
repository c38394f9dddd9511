"""Run a query and write the answer in the requested format."""

from __future__ import annotations

import warnings
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.reporting.console import send, width, write_bytes
from podium.compliance.tools.store.queries.connection import ask, connect, fetch, followed
from podium.compliance.tools.store.queries.formats import Format
from podium.compliance.tools.store.queries.render import parquet_bytes, render


def answer(store: Path, sql: str, form: Format, output: Path | None) -> None:
    """Query a store and print the rows, or write them to a file.

    Raises UsageFault for an invalid store or query.
    """
    if form is Format.PARQUET and output is None:
        raise UsageFault("--format parquet needs --output FILE")
    result = ask(connect(store), sql)
    if form is Format.PARQUET and output is not None:
        read = getattr(result, "to_arrow_table", None) or result.fetch_arrow_table
        with followed(), warnings.catch_warnings():
            # A warning about an avoidable copy is not useful to users
            warnings.simplefilter("ignore")
            rows = read()
        write_bytes(output, parquet_bytes(rows))
        return
    columns = [field[0] for field in result.description]
    send(render(columns, fetch(result), form, width()), output)
