"""Plays in chronological order, each with its listener's history, for both scales.

Dimensions: B samples, C contexts, L events of a sequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from podium.reference_runs.benchmarks.dlrm_v4_hstu.config import CROSSES, POOLS, DlrmV4
from podium.reference_runs.benchmarks.dlrm_v4_hstu.hashing import crossed
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    Array = NDArray[Any]

DAY = 86_400
"""Seconds."""
SEARCHED = 20_000
"""Events before a play that may be in its history, as in the reference."""
PART = 1 << 26
"""Times that are compared at once: all 2.3 billion would need further gigabytes of memory."""


COLUMNS = {
    "user": "flat_uid",
    "item": "flat_item_ids",
    "time": "flat_timestamps",
    "heard": "flat_is_listen_plus",
    "liked": "flat_is_like",
    "skipped": "flat_is_skip",
    "organic": "flat_is_organic",
}
"""Columns of the events, by file name."""


class Batch(NamedTuple):
    """Sequences whose history begins at 0, followed by the candidate and padding."""

    contexts: Tensor
    """User and crosses, (B, C)."""
    events: Tensor
    """Item, artist and album, (B, L, 3)."""
    actions: Tensor
    """Actions as bits: heard 1, liked 2, skipped 4; 0 for the candidate, (B, L)."""
    times: Tensor
    """In seconds, (B, L)."""
    candidate: Tensor
    """The candidate's position, (B,)."""
    labels: Tensor
    """1 if at least half of the track was heard, (B,)."""


@dataclass(frozen=True)
class Events:
    """All events, one listener after another, each in chronological order."""

    user: Array
    item: Array
    time: Array
    heard: Array
    liked: Array
    skipped: Array
    organic: Array
    begin: Array
    """Index of each user's first event."""
    artist_of: Array
    album_of: Array
    folder: str = ""
    """The folder of the files, for messages."""


class Days:
    """The plays that are samples, by day: a number of seconds, counted from the first play."""

    def __init__(self, plays: Array, times: Array, first: int | None = None) -> None:
        self.plays, self._times = plays, times
        parts = [times[start : start + PART] for start in range(0, len(times), PART)]
        self._first = min(int(part.min()) for part in parts) if first is None else first
        self.sizes = np.zeros(1, np.int64)
        for part in parts:
            counts = np.bincount((np.asarray(part) - self._first) // DAY)
            self.sizes = np.pad(self.sizes, (0, max(0, len(counts) - len(self.sizes))))
            self.sizes[: len(counts)] += counts
        self._known: tuple[int, Array] | None = None

    def of(self, day: int) -> Array:
        """Ascending indices of a day's plays among all samples."""
        # Searched each time: a list of all by day would take 18 GB in each process
        if self._known is None or self._known[0] != day:
            begin = self._first + day * DAY
            indices = []
            for start in range(0, len(self._times), PART):
                times = self._times[start : start + PART]
                indices.append(start + np.flatnonzero((times >= begin) & (times < begin + DAY)))
            self._known = day, np.concatenate(indices)
        return self._known[1]


class Plays(torch.utils.data.Dataset[Any]):
    """The samples of some days, in the order of the days and within a day in that of the files."""

    def __init__(
        self,
        events: Events,
        days: Days,
        chosen: range,
        config: DlrmV4,
        labels: Array | None = None,
    ) -> None:
        self._events, self._days, self._config = events, days, config
        self.first = chosen.start
        sizes = days.sizes[chosen.start : chosen.stop]
        self.ends = np.cumsum(np.pad(sizes, (0, max(0, len(chosen) - len(sizes)))))
        self._labels = labels
        """Labels that replace the real ones, by index."""

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def moved(self, day: int) -> Plays:
        """The samples of one day alone, with their real labels."""
        return Plays(self._events, self._days, range(day, day + 1), self._config)

    def day(self, number: int) -> int:
        """The day of a sample."""
        return self.first + int(np.searchsorted(self.ends, number, side="right"))

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Samples by index, which are consecutive and may span two days."""
        positions = np.asarray(indices)
        part_of = np.searchsorted(self.ends, positions, side="right")
        places = np.empty(len(positions), np.int64)
        for part in np.unique(part_of):
            here = part_of == part
            before = 0 if part == 0 else self.ends[part - 1]
            plays = self._days.plays[
                self._days.of(self.first + int(part))[positions[here] - before]
            ]
            places[here] = plays
        labels = self._events.heard[places] if self._labels is None else self._labels[positions]
        return self._batch(places, labels)

    def _batch(self, places: Array, labels: Array) -> Batch:
        events, length = self._events, self._config.events
        self._check("user", events.user[places])
        which = np.zeros((len(places), length), np.int64)
        actions, times = np.zeros_like(which), np.zeros_like(which)
        candidate = np.zeros(len(places), np.int64)
        for row, place in enumerate(places):
            history, actions_of = self._history(int(place))
            count = len(history)
            which[row, :count], actions[row, :count] = history, actions_of
            times[row, :count] = events.time[history]
            which[row, count], candidate[row] = place, count
            # The reference predicts at the time of the last event, not of the play itself
            times[row, count] = times[row, count - 1] if count else events.time[place]
        beyond = np.arange(length) > candidate[:, None]
        self._check("item", events.item[which])
        item = np.where(beyond, 0, np.asarray(events.item[which], np.int64))
        tracks = np.stack((item, events.artist_of[item], events.album_of[item]), -1)
        return Batch(
            contexts=torch.from_numpy(self._contexts(places)),
            events=torch.from_numpy(np.asarray(tracks, np.int64)),
            actions=torch.from_numpy(actions),
            times=torch.from_numpy(times),
            candidate=torch.from_numpy(candidate),
            labels=torch.from_numpy(np.asarray(labels, np.float32)),
        )

    def _check(self, what: str, ids: Array) -> None:
        """Raise DataMissing for ids beyond their table; checking a whole file takes minutes."""
        rows = self._config.rows[{"item": 0, "user": 3}[what]]
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= rows:
            path = f"{self._events.folder}/{COLUMNS[what]}.npy"
            wrong = low if low < 0 else high
            raise DataMissing(f"{path} contains the {what} {wrong}; expected 0 to {rows - 1}")

    def _history(self, place: int) -> tuple[Array, Array]:
        """The events before a play that are in its history, and their actions."""
        events, pool_size = self._events, self._config.history_length // POOLS
        begin = max(int(events.begin[events.user[place]]), place - SEARCHED)
        pools = [kind[begin:place] for kind in (events.heard, events.liked, events.skipped)]
        near = np.unique(np.concatenate([np.flatnonzero(pool)[-pool_size:] for pool in pools]))
        done = sum(np.asarray(pool)[near].astype(np.int64) << bit for bit, pool in enumerate(pools))
        return begin + near, np.asarray(done)

    def _contexts(self, places: Array) -> Array:
        """The user, and the hashed crosses with the candidate, (B, C)."""
        events, item = self._events, self._events.item[places]
        features = {
            "user": events.user[places],
            "item": item,
            "artist": events.artist_of[item],
            "album": events.album_of[item],
            "hour": np.asarray(events.time[places]) // 3600 % 24,
            "organic": events.organic[places],
        }
        columns = {name: np.asarray(column, np.int64) for name, column in features.items()}
        hashed = [
            crossed([columns[name] for name in names]) % np.uint64(rows)
            for names, rows in zip(CROSSES, self._config.cross_rows, strict=True)
        ]
        return np.stack((columns["user"], *(cross.astype(np.int64) for cross in hashed)), -1)
