"""The formats of rows; alone, as a command that is only listed needs no more."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """How rows are written."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
