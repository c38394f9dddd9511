"""Allocation and release of a step's storages, from operators on fake tensors."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass
from torch.utils._pytree import tree_leaves

from podium.reference_runs.planning.fake_tensors import call_on_fake


class SizeChange(NamedTuple):
    """A storage's number, and its bytes from here on; 0 when it is released."""

    storage: int
    size: int


class Timeline(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records each storage that is created, resized or released while it is entered.

    Tensors have no values: `called` determines the result when a program reads one.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.changes: list[SizeChange] = []
        self.resized: list[int] = []
        self._numbers: dict[int, int] = {}
        self._next = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call an operator, and record its outputs."""
        out = call_on_fake(func, args, kwargs or {})
        self.note(output for output in tree_leaves(out) if isinstance(output, torch.Tensor))
        return out

    def note(self, tensors: Iterable[torch.Tensor]) -> list[int]:
        """The numbers of the storages of tensors; unknown storages are added."""
        return [self._number(storage) for tensor in tensors for storage in storages(tensor)]

    def _number(self, storage: torch.UntypedStorage) -> int:
        key = storage._cdata
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._next
            self._next += 1
            self.changes.append(SizeChange(number, storage.nbytes()))
            weakref.finalize(storage, self._gone, key, number)
        return number

    def _gone(self, key: int, number: int) -> None:
        # Another storage may have its address by now
        if self._numbers.get(key) == number:
            del self._numbers[key]
        self.changes.append(SizeChange(number, 0))

    @contextmanager
    def resizes(self) -> Iterator[None]:
        """Also record resizes: FSDP releases gathered weights that way, without an operator."""
        plain = torch.UntypedStorage.resize_

        def resized(storage: torch.UntypedStorage, size: int) -> Any:
            number = self._number(storage)
            out = plain(storage, size)
            self.changes.append(SizeChange(number, size))
            self.resized.append(number)
            return out

        torch.UntypedStorage.resize_ = resized  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            torch.UntypedStorage.resize_ = plain  # type: ignore[method-assign]


def storages(tensor: torch.Tensor) -> Iterator[torch.UntypedStorage]:
    """The storage of a tensor; for a divided tensor, that of the local shard."""
    if is_traceable_wrapper_subclass(tensor):
        names, _ = tensor.__tensor_flatten__()
        parts = (getattr(tensor, name) for name in names)  # includes a mesh
        for part in parts:
            if isinstance(part, torch.Tensor):
                yield from storages(part)
    elif tensor.layout is torch.strided:
        yield tensor.untyped_storage()
