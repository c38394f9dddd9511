"""Read a dataset as a run does, without training, and report the samples that are unusable."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader, Dataset

from podium.reference_runs.catalogue import task_of
from podium.reference_runs.datasets.sums import NAME, differences, read_sums
from podium.reference_runs.engine.loading import start_method
from podium.reference_runs.engine.ranks import Ranks
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from podium.reference_runs.engine.launch import RunRequest
    from podium.reference_runs.engine.task import Task

AT_ONCE = 16
"""Samples between two messages of a worker process."""
MOST_FAULTS = 20
"""Faults that are listed for each part; the others are counted."""


@dataclass
class SplitReport:
    """The findings about the training or the evaluation data."""

    name: str
    samples: int
    chosen: int = 0
    """Samples to read; 0 if opening the data already read them."""
    read: int = 0
    faulty: int = 0
    """Samples that are unusable."""
    faults: list[str] = field(default_factory=list)
    """The faults, each message once."""
    seconds: float = 0.0


@dataclass
class Sums:
    """The result of comparing files with a list of checksums."""

    source: str
    files: int
    faults: list[str]


@dataclass
class Verified:
    """The result of verifying a dataset."""

    benchmark: str
    parts: list[SplitReport]
    sums: Sums | None
    unopened: str | None = None
    """Why the dataset cannot be opened, or has another number of samples than the benchmark's."""

    @property
    def faults(self) -> list[str]:
        """All faults, one line each."""
        messages = [self.unopened] if self.unopened else []
        for part in self.parts:
            messages += part.faults
            if part.faulty > len(part.faults) == MOST_FAULTS:
                messages.append(
                    f"{part.name}: {part.faulty} samples are faulty, {MOST_FAULTS} of them shown"
                )
        return messages + (self.sums.faults if self.sums else [])

    @property
    def usable(self) -> bool:
        """Whether the dataset has no faults."""
        return not self.faults


def verified(
    request: RunRequest,
    reading: tuple[int | None, int],
    listed: Path | None,
    watch: Callable[[SplitReport], object],
) -> Verified:
    """Open a dataset, count and read its samples, and compare its files with their checksums.

    reading: number of samples to read from each part, evenly spread (None: all), and number of
    worker processes. listed: checksums; None for the file in the folder. `watch` is called with a
    part from time to time. Raises DataMissing if the list of checksums cannot be read.
    """
    folder = request.setting.data
    assert folder is not None
    checksums = listed or (folder / NAME if (folder / NAME).is_file() else None)
    result = Verified(request.benchmark.name, [], None)
    if checksums is not None:
        sums = read_sums(checksums)
        wrong = [*differences(folder, sums, lambda _: None)]
        result.sums = Sums(str(checksums), len(sums), wrong)
    try:
        for name, data in _opened(request).items():
            result.parts.append(part := SplitReport(name, len(data)))
            _read_part(part, data, reading, watch)
    except DataMissing as error:
        result.unopened = str(error)
    return result


def _read_part(
    part: SplitReport,
    data: Any,
    reading: tuple[int | None, int],
    watch: Callable[[SplitReport], object],
) -> None:
    most, workers = reading
    if hasattr(data, "check"):
        data.check()
    if hasattr(data, "set_epoch"):
        data.set_epoch(1)
    # A part without samples by index was read completely when it was opened
    indices = _spread(len(data), most) if hasattr(data, "__getitems__") else range(0)
    part.chosen, began = len(indices), time.monotonic()
    for count, texts in _read(data, indices, workers):
        part.read += count
        part.faulty += len(texts)
        part.seconds = time.monotonic() - began
        new = [text for text in dict.fromkeys(texts) if text not in part.faults]
        part.faults += new[: MOST_FAULTS - len(part.faults)]
        watch(part)


def _opened(request: RunRequest) -> dict[str, Any]:
    """The parts of the dataset, opened and counted as in a run after `run_start`."""
    task: Task[Any] = task_of(request.benchmark.name)(
        request.config(), request.setting, Ranks(torch.device("cpu"))
    )
    task.check_files()
    task.prepare()
    task.read_in_place()
    task.open_data()
    return {"training": task.training, "evaluation": task.evaluation}


def _spread(count: int, most: int | None) -> Sequence[int]:
    """All indices, or `most` of them, evenly spread from the first to the last."""
    if most is None or most >= count:
        return range(count)
    return [index * (count - 1) // max(1, most - 1) for index in range(most)]


def _read(data: Any, indices: Sequence[int], workers: int) -> Iterator[tuple[int, list[str]]]:
    """The number of samples in each batch of reads, and the messages of the faulty ones."""
    batches = ([*indices[begin : begin + AT_ONCE]] for begin in range(0, len(indices), AT_ONCE))
    yield from DataLoader(
        _Tried(data),
        batch_sampler=batches,
        num_workers=workers,
        multiprocessing_context=start_method(workers),
        collate_fn=_unchanged,
    )


class _Tried(Dataset[Any]):
    """A dataset that yields only whether each sample could be read."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __getitems__(self, indices: Sequence[int]) -> tuple[int, list[str]]:
        faults = []
        # One at a time, so that a faulty sample does not hide the others
        for index in indices:
            try:
                self._data.__getitems__([index])
            except DataMissing as error:
                faults.append(str(error))
        return len(indices), faults


def _unchanged(read: Any) -> Any:
    return read
