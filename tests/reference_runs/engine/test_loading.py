"""Processes that load data: they stay, hear of epochs, and tell what is wrong in one line."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Sequence
from contextlib import nullcontext

import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.engine.loading import Loader, prefetched  # noqa: E402
from podium.reference_runs.errors import DataMissing  # noqa: E402


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


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each process has a copy")
def test_the_processes_share_the_dataset() -> None:
    """A file of tokens is mapped once, not copied to each process; this one cannot be copied."""
    data = Numbers()
    data.__dict__["lock"] = threading.Lock()
    assert next(Loader(data, 1, pinned=False).batches([[7]]))[2] == [7]


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


class Device:
    """Stands for a GPU: notes what its streams are told, and which copies are still there."""

    type = "cuda"

    def __init__(self) -> None:
        self.told: list[str] = []
        self.there: weakref.WeakSet[Copy] = weakref.WeakSet()
        self.most = 0


class Copy:
    """A batch on a device."""

    def __init__(self, device: Device, number: int) -> None:
        self.number = number
        device.there.add(self)
        device.most = max(device.most, len(device.there))
        device.told.append(f"copy {number}")


class Batch:
    """A batch that can be copied to a device."""

    def __init__(self, number: int) -> None:
        self.number = number

    def to(self, device: Device) -> Copy:
        return Copy(device, self.number)


class Stream:
    """A stream of the device that stands for a GPU."""

    def __init__(self, device: Device, steps: int = 0) -> None:
        self.device, self.steps = device, steps

    def wait_stream(self, other: Stream) -> None:
        self.device.told.append("wait for the copy")

    def record_event(self) -> Stream:
        self.steps += 1
        return Stream(self.device, self.steps)

    def synchronize(self) -> None:
        self.device.told.append(f"step {self.steps} done")


def test_a_gpu_copies_a_batch_while_it_computes_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No GPU is needed to see in which order its streams are told what."""
    device = Device()
    monkeypatch.setattr("torch.cuda.Stream", Stream)
    monkeypatch.setattr("torch.cuda.current_stream", Stream)
    monkeypatch.setattr("torch.cuda.stream", lambda _: nullcontext())
    shares = ([Batch(number)] for number in range(1, 5))
    for (batch,) in prefetched(shares, device):  # type: ignore[arg-type]
        device.told.append(f"compute {batch.number}")
    assert device.told == [
        *("copy 1", "wait for the copy", "compute 1"),
        *("copy 2", "wait for the copy", "compute 2"),
        *("step 1 done", "copy 3", "wait for the copy", "compute 3"),
        *("step 2 done", "copy 4", "wait for the copy", "compute 4"),
        "step 4 done",
    ]
    assert device.most == 2


def test_a_processor_takes_batches_where_they_are() -> None:
    batch = Batch(1)
    assert next(prefetched([[batch]], torch.device("cpu")))[0] is batch
