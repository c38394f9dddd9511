"""Rows written as Parquet: records one by one, in bounded memory; small tables at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from podium.compliance.files.atomic import new_file
from podium.compliance.files.optional_imports import needed
from podium.compliance.judging.files import FileVerdict
from podium.compliance.tools.store.building.records import EXTRA
from podium.compliance.tools.store.building.rows import Material, evaluation_batches, utf8
from podium.compliance.tools.store.schema import EVALUATIONS, RECORDS, VERSION, Table

ROWS = 1 << 17
"""Rows of one row group, which a reader reads or skips as a whole."""

LEVEL = 3
"""The level of zstd: higher levels cost more time than they save."""


def arrow_schema(table: Table) -> Any:
    """The columns of a table as an Arrow schema, with the version in the metadata."""
    arrow = needed("pyarrow", "a store", EXTRA)
    kinds = {
        "text": arrow.string(),
        "word": arrow.string(),
        "whole": arrow.int64(),
        "number": arrow.float64(),
        "truth": arrow.bool_(),
    }
    fields = [arrow.field(column.name, kinds[column.kind]) for column in table.columns]
    return arrow.schema(fields, metadata={"podium.results": str(VERSION)})


class _Writer:
    """One Parquet file, whose row groups are added one by one."""

    def __init__(self, folder: Path, table: Table) -> None:
        self.schema = arrow_schema(table)
        parquet = import_module("pyarrow.parquet")
        # Strings rarely repeat: a dictionary of them would become too large and be discarded
        words = [column.name for column in table.columns if column.kind == "word"]
        wholes = [column.name for column in table.columns if column.kind == "whole"]
        numbers = [column.name for column in table.columns if column.kind == "number"]
        # Disk errors have the same message for each file that podium writes
        self.stream = new_file(folder / f"{table.name}.parquet")
        self.file = parquet.ParquetWriter(
            self.stream,
            self.schema,
            compression="zstd",
            compression_level=LEVEL,
            use_dictionary=words,
            column_encoding=dict.fromkeys(wholes, "DELTA_BINARY_PACKED")
            | dict.fromkeys(numbers, "BYTE_STREAM_SPLIT"),
        )
        self.rows = 0

    def add(self, table: Any) -> None:
        self.file.write_table(table.cast(self.schema), row_group_size=ROWS)
        self.rows += table.num_rows

    def close(self) -> None:
        with self.stream:
            self.file.close()


class Records:
    """The file of a round's records, filled log by log."""

    def __init__(self, folder: Path) -> None:
        self.writer = _Writer(folder, RECORDS)
        self.arrow = needed("pyarrow", "a store", EXTRA)
        self.waiting: list[Any] = []
        self.count = 0

    def add(self, judged: FileVerdict, file: str) -> None:
        """Add the records of a log; `file` is its path in the store."""
        suite, _, name = judged.round.partition(" ")
        batch, arrow = judged.taken.batch, self.arrow
        rows = batch.num_rows
        columns = [*(_same_text(value, rows, arrow) for value in (suite, name, utf8(file)))]
        columns += batch.columns
        self.waiting.append(arrow.table(columns, names=[*RECORDS.names]))
        self.count += rows
        if self.count >= ROWS:
            self._flush()

    def _flush(self) -> None:
        if self.waiting:
            self.writer.add(self.arrow.concat_tables(self.waiting))
        self.waiting, self.count = [], 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._flush()
        self.writer.close()


def _same_text(text: str | None, rows: int, arrow: Any) -> Any:
    """A column with one string, which is stored once."""
    numbers = arrow.repeat(arrow.scalar(0, arrow.int8()), rows)
    return arrow.DictionaryArray.from_arrays(numbers, arrow.array([text], arrow.string()))


def write_evaluations(folder: Path, material: Material) -> int:
    """Write the evaluations of all logs; returns their number."""
    arrow = needed("pyarrow", "a store", EXTRA)
    writer = _Writer(folder, EVALUATIONS)
    try:
        batches = [
            arrow.record_batch(columns, schema=writer.schema)
            for columns in evaluation_batches(material, arrow)
        ]
        writer.add(arrow.Table.from_batches(batches, writer.schema).combine_chunks())
    finally:
        writer.close()
    return writer.rows


PART = 1 << 13
"""Maximum number of rows of a small table in memory: a round may have 100,000 findings."""


def write_rows(folder: Path, table: Table, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write a small table in parts; each row has all columns. Returns the number of rows."""
    writer = _Writer(folder, table)
    try:
        arrow = needed("pyarrow", "a store", EXTRA)
        waiting = iter(rows)
        # An empty table also has a row group
        part = [*islice(waiting, PART)]
        writer.add(_table(part, table, writer.schema, arrow))
        while part := [*islice(waiting, PART)]:
            writer.add(_table(part, table, writer.schema, arrow))
    finally:
        writer.close()
    return writer.rows


def _table(rows: Sequence[Mapping[str, Any]], table: Table, schema: Any, arrow: Any) -> Any:
    cast: Mapping[str, Any] = {"whole": _whole, "number": _number, "text": utf8, "word": utf8}
    columns = [
        arrow.array(
            [cast.get(column.kind, _same)(row[column.name]) for row in rows],
            schema.field(column.name).type,
        )
        for column in table.columns
    ]
    return arrow.Table.from_arrays(columns, schema=schema)


def _same(value: Any) -> Any:
    return value


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


MOST = (1 << 63) - 1


def _whole(value: Any) -> int | None:
    return None if value is None or abs(value) > MOST else int(value)
