"""Batches of a dataset, loaded in the training process or by persistent worker processes."""

from __future__ import annotations

import sys
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.utils._pytree import tree_map
from torch.utils.data import DataLoader, Dataset

from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

COPIED = 2
"""Steps whose batches are on a GPU at once: the current one and the next."""


def start_method(workers: int) -> str | None:
    """The start method of processes that load data; None for the default.

    Forked processes share the dataset. The default from Python 3.14 on copies it to each.
    """
    return "fork" if workers and sys.platform == "linux" else None


class Loader:
    """A dataset and its worker processes, which end with this object."""

    def __init__(self, data: Any, workers: int, *, pinned: bool) -> None:
        self.data = data
        self._orders = _Orders()
        self._loader = DataLoader(
            _Epochs(data),
            batch_sampler=self._orders,  # type: ignore[arg-type]
            num_workers=workers,
            multiprocessing_context=start_method(workers),
            collate_fn=_unchanged,
            pin_memory=pinned,
            # Starting them can take longer than the first batches of an epoch
            persistent_workers=workers > 0,
        )

    def batches(self, indices: Iterable[Sequence[int]], epoch: int = 0) -> Iterator[Any]:
        """The batches of an epoch, by the indices of each; raises DataMissing."""
        self._orders.coming = (_Order(epoch, batch_indices) for batch_indices in indices)
        for batch in self._loader:
            if isinstance(batch, _Fault):
                raise DataMissing(batch.text)
            yield batch


def prefetched(shares: Iterable[Any], device: torch.device) -> Iterator[Any]:
    """The batches of each step on the device; a GPU copies them during the previous step.

    Copies use a separate CUDA stream, which the step's stream waits for. A batch is released when
    the next step is queued and the device has finished with it: at most two exist at once.
    """
    if device.type != "cuda":
        yield from shares
        return
    copying = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    computing = torch.cuda.current_stream(device)
    used: deque[tuple[Any, torch.cuda.Event]] = deque()
    try:
        for share in shares:
            if len(used) == COPIED:
                used.popleft()[1].synchronize()
            with torch.cuda.stream(copying):
                near = tree_map(lambda part: _on(part, device), share)
            computing.wait_stream(copying)
            yield near
            # The step is queued by now
            used.append((near, computing.record_event()))
    finally:
        # The allocator knows only the copy stream: it would reuse memory that is still being read
        computing.synchronize()


def _on(part: Any, device: torch.device) -> Any:
    if isinstance(part, torch.Tensor):
        return part.to(device, non_blocking=True)
    return part.to(device) if hasattr(part, "to") else part


class _Order(NamedTuple):
    """The instructions for a worker process to load a batch."""

    epoch: int
    indices: Sequence[int]


class _Orders:
    """The instructions for the batches of successive epochs."""

    coming: Iterable[_Order] = ()

    def __iter__(self) -> Iterator[_Order]:
        return iter(self.coming)


class _Fault:
    """A data error, returned in place of a batch."""

    def __init__(self, text: str) -> None:
        self.text = text


class _Epochs(Dataset[Any]):
    """A dataset whose epoch is set with the first batch of the epoch.

    Each worker process has a separate copy, so it must receive the epoch with the batch.
    """

    def __init__(self, data: Any) -> None:
        self._data, self._epoch = data, 0

    def __getitems__(self, order: _Order) -> Any:
        try:
            if order.epoch != self._epoch and hasattr(self._data, "set_epoch"):
                self._data.set_epoch(order.epoch)
            self._epoch = order.epoch
            return self._data.__getitems__(order.indices)
        except DataMissing as error:
            # torch would add the worker's traceback to the exception's message
            return _Fault(str(error))


def _unchanged(batch: Any) -> Any:
    return batch
