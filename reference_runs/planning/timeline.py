"""When a step's storages come and go, from operators on tensors without numbers."""

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
    """A storage's number, and the bytes that it has from here on; 0 where it is gone."""

    storage: int
    size: int


class Timeline(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes each storage that comes, changes its size, or goes while it is entered.

    There are no numbers: a program that asks for some is told what `called` says.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.changes: list[SizeChange] = []
        self.resized: list[int] = []
        self._numbers: dict[int, int] = {}
        self._next = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call an operator, and note what it has made."""
        out = call_on_fake(func, args, kwargs or {})
        self.note(each for each in tree_leaves(out) if isinstance(each, torch.Tensor))
        return out

    def note(self, tensors: Iterable[torch.Tensor]) -> list[int]:
        """The numbers of the storages of tensors; new ones are here from now on."""
        return [self._number(each) for tensor in tensors for each in storages(tensor)]

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
        """Note changes of size as well: gathered weights are let go of so, by no operator."""
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
    """What a tensor lies in: that of the part of this rank, for one that is divided."""
    if is_traceable_wrapper_subclass(tensor):
        names, _ = tensor.__tensor_flatten__()
        parts = (getattr(tensor, name) for name in names)  # a mesh, too
        for part in parts:
            if isinstance(part, torch.Tensor):
                yield from storages(part)
    elif tensor.layout is torch.strided:
        yield tensor.untyped_storage()
