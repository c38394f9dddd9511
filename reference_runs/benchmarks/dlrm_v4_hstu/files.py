"""Yambda-5B as MLCommons publishes it for this benchmark: events in NumPy files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from podium.reference_runs.benchmarks.dlrm_v4_hstu.data import COLUMNS, Days, Events, Plays
from podium.reference_runs.engine.arrays import mapped_array
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from podium.reference_runs.benchmarks.dlrm_v4_hstu.config import DlrmV4
    from podium.reference_runs.engine.samples import DatasetSize

CACHE = "processed_5b/hstu_cache_L4086"


def from_files(folder: Path, config: DlrmV4, expected: DatasetSize) -> tuple[Plays, Plays]:
    """The training days, and the day after them; raises DataMissing.

    The samples are the plays in `positions_L4086.npy`, which have a full history of the listener's
    events before them; `anchor_ts_L4086.npy` has their times.
    """
    place = folder / CACHE
    columns = {field: mapped_array(place / f"{name}.npy") for field, name in COLUMNS.items()}
    count = len(columns["user"])
    for field, column in columns.items():
        if column.shape != (count,):
            path = place / f"{COLUMNS[field]}.npy"
            raise DataMissing(f"{path} has shape {column.shape}; expected {(count,)}")
    artists, albums = (
        _owners(folder, kind, config, table) for table, kind in ((1, "artist"), (2, "album"))
    )
    begin = mapped_array(place / "user_start.npy")
    events = Events(**columns, begin=begin, artist_of=artists, album_of=albums, folder=str(place))
    plays, times = (
        mapped_array(place / f"{stem}_L4086.npy") for stem in ("positions", "anchor_ts")
    )
    if plays.shape != times.shape or not len(plays):
        raise DataMissing(
            f"{place / 'anchor_ts_L4086.npy'} has shape {times.shape}; expected {plays.shape}"
            ", as in positions_L4086.npy, and not empty"
        )
    days = Days(plays, times)
    training = Plays(events, days, range(config.days), config)
    evaluation = Plays(events, days, range(config.days, config.days + 1), config)
    path = place / "positions_L4086.npy"
    expected.check_training(path, len(training), f"plays in its first {config.days} days")
    expected.check_evaluation(path, len(evaluation), f"plays on day {config.days}")
    return training, evaluation


def _owners(folder: Path, kind: str, config: DlrmV4, table: int) -> NDArray[np.int64]:
    """The artist or album of each item; 0 for unlisted items."""
    path = folder / "shared_metadata" / f"{kind}_item_mapping.parquet"
    items, owners = (_column(path, name) for name in ("item_id", f"{kind}_id"))
    for name, ids, rows in (("item", items, config.rows[0]), (kind, owners, config.rows[table])):
        if len(ids) and (ids.min() < 0 or ids.max() >= rows):
            wrong = ids.min() if ids.min() < 0 else ids.max()
            raise DataMissing(f"{path} contains the {name} {wrong}; expected 0 to {rows - 1}")
    owner_of = np.zeros(config.rows[0], np.int64)
    owner_of[items] = owners
    return owner_of


def _column(path: Path, name: str) -> NDArray[Any]:
    try:
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
        from pyarrow import ArrowException
    except ModuleNotFoundError:
        raise DataMissing(
            f"{path} is in Parquet, which requires pyarrow: pip install pyarrow"
        ) from None
    try:
        values: NDArray[Any] = pq.read_table(path, columns=[name])[name].to_numpy()
    except (OSError, KeyError, ValueError, ArrowException) as error:
        reason = str(error).partition("\n")[0]
        raise DataMissing(f"{path} cannot be read as a table with {name}: {reason}") from None
    return values.astype(np.int64)
