"""Processes that load data: they stay, hear of epochs, and tell what is wrong in one line."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

pytest.importorskip("torch")

from podium.reference_runs.engine.loading import Loader
from podium.reference_runs.errors import DataMissing


class Numbers:
    """Says who loads what in which epoch; what is beyond 100 is missing."""

    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __getitems__(self, indices: Sequence[int]) -> tuple[int, int, list[int]]:
        if max(indices) > 100:
            raise DataMissing(f"number {max(indices)} is missing")
        return os.getpid(), self.epoch, [*indices]


@pytest.mark.parametrize("workers", [0, 2])
def test_the_same_processes_load_every_epoch(workers: int) -> None:
    loader = Loader(Numbers(), workers, pinned=False)
    found = {
        epoch: [*loader.batches([[epoch, at] for at in range(8)], epoch)] for epoch in (1, 2, 3)
    }
    for epoch, batches in found.items():
        assert [numbers for _, _, numbers in batches] == [[epoch, at] for at in range(8)]
        assert {heard for _, heard, _ in batches} == {epoch}
    processes = [{process for process, _, _ in batches} for batches in found.values()]
    assert processes[0] == processes[1] == processes[2]
    assert len(processes[0]) == max(1, workers)
    assert (os.getpid() in processes[0]) is (workers == 0)


@pytest.mark.parametrize("workers", [0, 1])
def test_an_epoch_may_be_left_early_and_a_fault_is_one_line(workers: int) -> None:
    loader = Loader(Numbers(), workers, pinned=False)
    first = loader.batches(([at] for at in range(50)), 1)
    assert [next(first)[2] for _ in range(3)] == [[0], [1], [2]]
    first.close()  # type: ignore[attr-defined]
    again = loader.batches([[7], [8], [101]], 2)
    assert [next(again)[1:] for _ in range(2)] == [(2, [7]), (2, [8])]
    with pytest.raises(DataMissing, match=r"^number 101 is missing$"):
        next(again)
