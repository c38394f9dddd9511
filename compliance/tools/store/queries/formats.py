"""The formats of rows; a separate module, because the list of commands needs nothing else."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """The output format of rows."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
