"""Data-loading processes: they persist across epochs, share the dataset and report errors."""

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
    """Dataset whose batches are the process, the epoch and the indices; above 100 is missing."""

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
    """A token file must be mapped once, not copied to each process; a lock cannot be copied."""
    data = Numbers()
    data.__dict__["lock"] = threading.Lock()
    assert next(Loader(data, 1, pinned=False).batches([[7]]))[2] == [7]


@pytest.mark.parametrize("workers", [0, 1])
def test_an_epoch_can_be_abandoned_and_a_data_error_keeps_its_message(workers: int) -> None:
    loader = Loader(Numbers(), workers, pinned=False)
    first = loader.batches(([at] for at in range(50)), 1)
    assert [next(first)[2] for _ in range(3)] == [[0], [1], [2]]
    first.close()  # type: ignore[attr-defined]
    again = loader.batches([[7], [8], [101]], 2)
    assert [next(again)[1:] for _ in range(2)] == [(2, [7]), (2, [8])]
    with pytest.raises(DataMissing, match=r"^number 101 is missing$"):
        next(again)


class Device:
    """Fake GPU that records the calls of its streams and the copies that are still alive."""

    type = "cuda"

    def __init__(self) -> None:
        self.events: list[str] = []
        self.there: weakref.WeakSet[Copy] = weakref.WeakSet()
        self.most = 0


class Copy:
    """A batch on a device."""

    def __init__(self, device: Device, number: int) -> None:
        self.number = number
        device.there.add(self)
        device.most = max(device.most, len(device.there))
        device.events.append(f"copy {number}")


class Batch:
    """A batch that can be copied to a device."""

    def __init__(self, number: int) -> None:
        self.number = number

    def to(self, device: Device) -> Copy:
        return Copy(device, self.number)


class Stream:
    """A stream of the fake GPU."""

    def __init__(self, device: Device, steps: int = 0) -> None:
        self.device, self.steps = device, steps

    def wait_stream(self, other: Stream) -> None:
        self.device.events.append("wait for the copy")

    def record_event(self) -> Stream:
        self.steps += 1
        return Stream(self.device, self.steps)

    def synchronize(self) -> None:
        self.device.events.append(f"step {self.steps} done")


def test_a_gpu_copies_the_next_batch_while_it_computes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The calls of a fake GPU show the order of copies and steps."""
    device = Device()
    monkeypatch.setattr("torch.cuda.Stream", Stream)
    monkeypatch.setattr("torch.cuda.current_stream", Stream)
    monkeypatch.setattr("torch.cuda.stream", lambda _: nullcontext())
    shares = ([Batch(number)] for number in range(1, 5))
    for (batch,) in prefetched(shares, device):  # type: ignore[arg-type]
        device.events.append(f"compute {batch.number}")
    assert device.events == [
        *("copy 1", "wait for the copy", "compute 1"),
        *("copy 2", "wait for the copy", "compute 2"),
        *("step 1 done", "copy 3", "wait for the copy", "compute 3"),
        *("step 2 done", "copy 4", "wait for the copy", "compute 4"),
        "step 4 done",
    ]
    assert device.most == 2


def test_the_cpu_uses_batches_without_copying_them() -> None:
    batch = Batch(1)
    assert next(prefetched([[batch]], torch.device("cpu")))[0] is batch
