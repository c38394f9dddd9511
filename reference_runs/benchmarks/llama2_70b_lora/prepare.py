"""Conversion of the benchmark's published GovReport, packed rows in Parquet, to token files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.reference_runs.benchmarks.llama2_70b_lora.data import LABELS
from podium.reference_runs.datasets.prepare import Piece, Recipe
from podium.reference_runs.errors import DataMissing, LibraryMissing
from podium.reference_runs.modeling.language.corpus import UNSCORED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

LENGTH = 8192
COLUMNS = ("input_ids", "labels")
AT_ONCE = 64
"""Rows in memory at once."""
PARTS = ("train", "validation")


def recipe(name: str, source: Path, tokenizer: Path | None, *, subset: bool) -> Recipe:  # noqa: ARG001
    """The recipe for writing the rows; raises DataMissing.

    source: a folder with `train-*.parquet` and `validation-*.parquet`, at any depth, with columns
    `input_ids` and `labels` of 8192 tokens a row.
    """
    pieces = []
    for part in PARTS:
        files = sorted(source.rglob(f"{part}-*.parquet"))
        if not files:
            raise DataMissing(f"{source} contains no {part}-*.parquet")
        pieces.append(Piece(part, partial(write, part, tuple(files))))
    return Recipe(pieces, f"{name} of {source.absolute()}")


def write(part: str, files: tuple[Path, ...], folder: Path) -> None:
    """Write a part's tokens, and for evaluation their labels; raises DataMissing."""
    with (folder / f"{part}.bin").open("wb") as tokens, (folder / LABELS).open("wb") as labels:
        for path in files:
            for ids, scored in _rows(path):
                tokens.write(ids.astype("<u4").tobytes())
                labels.write(scored.astype("<i4").tobytes())
    if part == "train":
        (folder / LABELS).unlink()


def _rows(path: Path) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    try:
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
        from pyarrow import ArrowException
    except ImportError:
        raise LibraryMissing(
            "pyarrow, which Parquet files require, is not installed: pip install pyarrow"
        ) from None
    index = 0
    try:
        with pq.ParquetFile(path) as file:
            absent = [name for name in COLUMNS if name not in file.schema_arrow.names]
            if absent:
                raise DataMissing(f"{path} has no column {absent[0]}")
            for batch in file.iter_batches(AT_ONCE, columns=[*COLUMNS]):
                for row in zip(*(batch.column(name).to_pylist() for name in COLUMNS), strict=True):
                    yield _row(path, index, *row)
                    index += 1
    except (OSError, ValueError, ArrowException) as error:
        reason = str(error).partition("\n")[0]
        raise DataMissing(f"{path} cannot be read as Parquet: {reason}") from None


def _row(path: Path, index: int, ids: Any, labels: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    try:
        tokens, scored = np.asarray(ids, np.int64), np.asarray(labels, np.int64)
    except (TypeError, ValueError):
        raise DataMissing(f"{path} has non-integers in row {index}") from None
    if tokens.shape != (LENGTH,) or scored.shape != (LENGTH,):
        raise DataMissing(f"{path} has {tokens.size} tokens in row {index}; expected {LENGTH}")
    if tokens.min() < 0 or tokens.max() >= 1 << 31:
        raise DataMissing(f"{path} has an invalid token in row {index}")
    if ((scored != UNSCORED) & (scored != tokens)).any():
        raise DataMissing(
            f"{path} has a label in row {index} that is neither its token nor {UNSCORED}"
        )
    return tokens, scored
