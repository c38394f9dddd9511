"""Sites for tests, and stores with edited tables."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.compliance.command_line import podium

Row = dict[str, Any]
Change = Callable[[str, Row], Row]


def made(store: Path, output: Path, *words: object) -> Path:
    """Build the site of a store without charts, which take seconds."""
    given = ("results", "site", store, "--output", output, "--quiet", "--no-charts")
    done = podium(*given, *words)
    assert (done.exit_code, done.output) == (0, "")
    return output


def rewritten(store: Path, to: Path, change: Change) -> Path:
    """Copy a store and change each row of each table."""
    shutil.copytree(store, to)
    for path in to.rglob("*.parquet"):
        held = pq.read_table(path)
        rows = [change(path.stem, row) for row in held.to_pylist()]
        pq.write_table(pa.Table.from_pylist(rows, schema=held.schema), path)
    return to


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")
