"""Replay of a recorded step: its operators in order, on the original tensors.

The work of modules, autograd, optimizers and loaders around the operators is omitted; caches and
the allocator are in the same state as in a step.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_leaves, tree_map

from podium.reference_runs.profiling.clock import CLOCKS, clock_of, wait
from podium.reference_runs.profiling.counts import tensors_in

EMPTY = 200
"""Calls of a no-op operator: their time is overhead and is subtracted from kernels."""
_EMPTY = "nothing"


class StorageView(NamedTuple):
    """A tensor as a view of a numbered storage."""

    storage: int
    offset: int
    sides: tuple[int, ...]
    strides: tuple[int, ...]
    type: torch.dtype


class Played(NamedTuple):
    """One call: its kernel, its inputs as views, and the storages that it creates.

    `made` has the position of each storage among the returned tensors. `over` are the storages and
    views that no later call uses.
    """

    kernel: Hashable
    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    made: tuple[tuple[int, int], ...]
    over: tuple[int | StorageView, ...] = ()


class Tape:
    """The calls of a step in order. All storages are kept until `finish`, so that none is reused.

    A storage that no call creates is kept permanently: weights, state, and the batch.
    """

    def __init__(self) -> None:
        self._calls: list[Played] = []
        self._numbers: dict[int, int] = {}
        self._held: list[Any] = []
        self._kept: dict[int, Any] = {}

    def parts(self, inputs: Any) -> Any:
        """Inputs with each tensor as a view of a storage; sparse tensors are unchanged."""
        return tree_map(self._part, inputs)

    def _part(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            return value
        storage = value.untyped_storage()
        number = self._numbers.get(storage._cdata)
        if number is None:
            number = self._number(storage)
            self._kept[number] = storage
        offset = int(value.storage_offset())
        return StorageView(number, offset, tuple(value.shape), tuple(value.stride()), value.dtype)

    def _number(self, storage: Any) -> int:
        number = self._numbers[storage._cdata] = len(self._held)
        self._held.append(storage)
        return number

    def add(self, kernel: Hashable, function: Any, inputs: Any, out: Any) -> None:
        """Record a finished call, with its inputs as views."""
        made = []
        for position, tensor in enumerate(tensors_in(out)):
            if tensor.layout is torch.strided:
                storage = tensor.untyped_storage()
                if storage._cdata not in self._numbers:
                    made.append((position, self._number(storage)))
        self._calls.append(Played(kernel, function, inputs[0], inputs[1], tuple(made)))

    def finish(self) -> None:
        """Release the storages that calls created, and determine the last use of each."""
        last: dict[int | StorageView, int] = {}
        for index, call in enumerate(self._calls):
            used = _parts((call.args, call.kwargs))
            storages = [*(view.storage for view in used), *(number for _, number in call.made)]
            last |= dict.fromkeys((*used, *storages), index)
        over: list[list[int | StorageView]] = [[] for _ in self._calls]
        for item, index in last.items():
            if (item.storage if isinstance(item, StorageView) else item) not in self._kept:
                over[index].append(item)
        self._calls = [
            call._replace(over=tuple(items)) for call, items in zip(self._calls, over, strict=True)
        ]
        self._held.clear()
        self._numbers.clear()

    def play(self, device: torch.device) -> dict[Hashable, float]:
        """Milliseconds of all calls of each kernel in one step."""
        clock = _EventClock(device) if device.type == "cuda" else _Clock(device)
        arguments = (torch.zeros(1, device=device),)
        for _ in range(EMPTY):
            clock.timed(_EMPTY, torch.ops.aten.alias, arguments, {})
        self._play(clock)
        taken, calls = clock.taken(), Counter(call.kernel for call in self._calls)
        own = taken.pop(_EMPTY) / EMPTY
        return {kernel: max(0.0, taken[kernel] - own * count) for kernel, count in calls.items()}

    def _play(self, clock: _Clock) -> None:
        """Call every operator once; the work between calls is minimal, to preserve the caches."""
        held = dict(self._kept)
        tensors: dict[StorageView, Any] = {}

        def tensor(value: Any) -> Any:
            if isinstance(value, list):
                return [tensor(item) for item in value]
            if not isinstance(value, StorageView):
                return value
            cached = tensors.get(value)
            if cached is None:
                storage, *place, kind = value
                empty = torch.empty(0, dtype=kind, device=held[storage].device)
                cached = tensors[value] = empty.set_(held[storage], *place)
            return cached

        with torch.no_grad():
            for call in self._calls:
                args = [tensor(argument) for argument in call.args]
                kwargs = {name: tensor(argument) for name, argument in call.kwargs.items()}
                out = clock.timed(call.kernel, call.function, args, kwargs)
                if call.made:
                    outputs = (out,) if isinstance(out, torch.Tensor) else tensors_in(out)
                    for position, number in call.made:
                        held[number] = outputs[position].untyped_storage()
                    del outputs
                del out, args, kwargs
                for item in call.over:
                    if isinstance(item, StorageView):
                        tensors.pop(item, None)
                    else:
                        del held[item]


def _parts(values: Any) -> list[StorageView]:
    return [leaf for leaf in tree_leaves(values, is_leaf=_is_part) if _is_part(leaf)]


def _is_part(value: Any) -> bool:
    return isinstance(value, StorageView)


class _Clock:
    """Times calls, synchronizing with asynchronous devices after each."""

    def __init__(self, device: torch.device) -> None:
        self._device, self._now = device, CLOCKS[clock_of(device)]
        self._times: dict[Hashable, float] = defaultdict(float)

    def timed(self, kernel: Hashable, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a call and time it."""
        now = self._now
        wait(self._device)
        begin = now()
        out = call(*args, **kwargs)
        wait(self._device)
        self._times[kernel] += now() - begin
        return out

    def taken(self) -> dict[Hashable, float]:
        """Milliseconds of each kernel."""
        return {kernel: seconds * 1000 for kernel, seconds in self._times.items()}


class _EventClock(_Clock):
    """Times calls with a GPU's events, so that the host need not wait for each."""

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        self._marks: list[tuple[Hashable, Any, Any]] = []

    def timed(self, kernel: Hashable, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        begin.record()
        out = call(*args, **kwargs)
        end.record()
        self._marks.append((kernel, begin, end))
        return out

    def taken(self) -> dict[Hashable, float]:
        torch.cuda.synchronize()
        for kernel, begin, end in self._marks:
            self._times[kernel] += begin.elapsed_time(end) / 1000
        self._marks.clear()
        return super().taken()
