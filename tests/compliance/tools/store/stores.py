"""Stores for tests, built from generated or published rounds, and access to their tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from podium.compliance.judging.options import Options, Progress
from podium.compliance.tools.store.building.session import Built, build
from podium.compliance.tools.store.index import read_index


def built(
    store: Path, *rounds: Path, jobs: int = 1, force: bool = False, progress: Progress | None = None
) -> Built:
    """Add rounds to a store."""
    return build(rounds, store, Options(jobs=jobs), force=force, progress=progress)


def table(store: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table, for all rounds in the store, from the Parquet files."""
    folders = [store / entry.folder for entry in read_index(store).rounds]
    rows: list[dict[str, Any]] = []
    for folder in folders:
        rows += pq.read_table(folder / f"{name}.parquet").to_pylist()
    return rows


def schema(store: Path, name: str) -> pa.Schema:
    """Return the columns of a table."""
    folder = store / read_index(store).rounds[0].folder
    return pq.read_schema(folder / f"{name}.parquet")


def content(store: Path) -> dict[str, bytes]:
    """Return the content of every file of a store."""
    return {
        path.relative_to(store).as_posix(): path.read_bytes()
        for path in store.rglob("*")
        if path.is_file()
    }


def lines_of(root: Path, row: dict[str, Any]) -> str:
    """Return the line of a file that a row names; `root` has the folders of the rounds."""
    text: Sequence[str] = (root / row["file"]).read_text(errors="replace").splitlines()
    return text[row["line"] - 1]
