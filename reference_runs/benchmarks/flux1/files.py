"""CC12M and COCO in the benchmark's published encoding: Arrow files, a row for each pair.

A row has `t5_encodings`, `clip_encodings`, `mean` and `logvar`, each the bytes of a .npy file of
bfloat16 numbers as unsigned 16-bit integers, and in COCO's files `timestep`.
"""

from __future__ import annotations

import io
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.reference_runs.benchmarks.flux1.config import TIMES
from podium.reference_runs.benchmarks.flux1.data import Caption, Pair
from podium.reference_runs.engine.arrays import mapped_array
from podium.reference_runs.errors import DataMissing, LibraryMissing

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from podium.reference_runs.benchmarks.flux1.config import Flux
    from podium.reference_runs.engine.samples import DatasetSize

    Floats = NDArray[np.float32]

TRAINING, EVALUATION = "cc12m_preprocessed", "coco_preprocessed"
EMPTY = ("empty_encodings/t5_empty.npy", "empty_encodings/clip_empty.npy")
COLUMNS = ("mean", "logvar", "t5_encodings", "clip_encodings")
STEP = "timestep"


class Files:
    """The pairs of a folder's Arrow files, sorted by file name; read on access.

    Raises DataMissing if a file or a row is unusable.
    """

    def __init__(self, folder: Path, config: Flux, empty: Caption) -> None:
        self.folder, self.empty = folder, empty
        self._shapes = shapes(config)
        self._paths = sorted(folder.rglob("*.arrow"))
        if not self._paths:
            raise DataMissing(f"{folder} contains no .arrow files")
        self._starts = np.cumsum([0, *(table.num_rows for table in self._tables)])

    @cached_property
    def _tables(self) -> list[Any]:
        return [_table(path) for path in self._paths]

    def __getstate__(self) -> dict[str, Any]:
        # A worker process maps the files itself, since a table would be sent with all its rows
        return {key: value for key, value in self.__dict__.items() if key != "_tables"}

    def __len__(self) -> int:
        return int(self._starts[-1])

    def pair(self, index: int) -> Pair:
        """One pair."""
        file = int(np.searchsorted(self._starts, index, "right")) - 1
        row = index - int(self._starts[file])
        table, where = self._tables[file], f"{self._paths[file]}, row {row},"
        mean, logvar, text, pooled = (
            _array(table[name][row].as_py(), f"{where} {name}", shape)
            for name, shape in zip(COLUMNS, self._shapes, strict=True)
        )
        step = index % TIMES
        if STEP in table.column_names:
            step = _step(table[STEP][row].as_py(), where)
        return Pair(mean, np.exp(0.5 * logvar), Caption(text, pooled), step)


def shapes(config: Flux) -> tuple[tuple[int, ...], ...]:
    """Shapes of a row's arrays, in the order of COLUMNS."""
    image = (config.latent_channels, config.latent_size, config.latent_size)
    return image, image, (config.text_length, config.text_width), (config.pooled_width,)


def _table(path: Path) -> Any:
    """A file's rows, memory-mapped."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
    except ImportError:
        raise LibraryMissing(
            "pyarrow, which Arrow files require, is not installed: pip install pyarrow"
        ) from None
    try:
        table = pa.ipc.open_stream(pa.memory_map(str(path))).read_all()
    except (OSError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0]
        raise DataMissing(f"{path} cannot be read as an Arrow stream: {reason}") from None
    absent = [name for name in COLUMNS if name not in table.column_names]
    if absent:
        raise DataMissing(f"{path} has no column {absent[0]}")
    return table


def _array(content: Any, where: str, shape: tuple[int, ...]) -> Floats:
    """A row's bfloat16 numbers in single precision."""
    try:
        bits = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, TypeError, OSError, EOFError) as error:
        raise DataMissing(f"{where} cannot be read as an array: {error}") from None
    if bits.dtype != np.uint16 or bits.shape != shape:
        raise DataMissing(
            f"{where} is {bits.dtype.name} of shape {bits.shape}; expected uint16 of {shape}"
        )
    # bfloat16 is the upper half of single precision
    numbers: Floats = (bits.astype(np.uint32) << 16).view(np.float32)
    return numbers


def _step(step: Any, where: str) -> int:
    if not isinstance(step, int) or not 0 <= step < TIMES:
        raise DataMissing(f"{where} {STEP} is {step!r}; expected 0 to {TIMES - 1}")
    return step


def _empty(folder: Path, config: Flux) -> Caption:
    """The encoded empty caption, one row in each file."""
    rows = []
    for name, shape in zip(EMPTY, shapes(config)[2:], strict=True):
        array = mapped_array(folder / name)
        if array.shape != (1, *shape) or array.dtype.kind != "f":
            raise DataMissing(
                f"{folder / name} is {array.dtype.name} of shape {array.shape};"
                f" expected floating-point numbers of {(1, *shape)}"
            )
        rows.append(array[0].astype(np.float32))
    return Caption(*rows)


def from_files(folder: Path, config: Flux, expected: DatasetSize) -> tuple[Files, Files]:
    """Training and evaluation pairs; raises DataMissing if a file is unusable."""
    empty = _empty(folder, config)
    training, evaluation = (Files(folder / part, config, empty) for part in (TRAINING, EVALUATION))
    expected.check_training(training.folder, len(training), "pairs")
    expected.check_evaluation(evaluation.folder, len(evaluation), "pairs")
    return training, evaluation
