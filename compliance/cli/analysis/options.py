"""Options that the commands on a store share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class TextForm(StrEnum):
    """How the table of an analysis is written."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"


StoreOption = Annotated[
    Path, typer.Option("--store", help="A store that `podium results build` made.", metavar="DIR")
]
RowsOption = Annotated[TextForm, typer.Option("--format", help="How to write the table.")]
