"""The operator calls of a step, with the shapes, strides and types of their inputs."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from podium.reference_runs.kernels.operators import described, kind_of
from podium.reference_runs.kernels.problems import Call
from podium.reference_runs.kernels.tape import Tape
from podium.reference_runs.kernels.timing import Prepared
from podium.reference_runs.kernels.torch_calls import TensorPlace, Unsupported
from podium.reference_runs.planning.fake_tensors import call_on_fake
from podium.reference_runs.profiling.counts import (
    optimizer_step_hooks,
    size_of,
    storage_of,
    tensors_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_SILENT = ("aten::_local_scalar_dense", "aten::lift_fresh", "aten::detach", "aten::_pin_memory")
"""Operators without work on a device."""
_MARKS = "profiler::"

KEPT_VALUES = 1 << 22
"""Integer tensors, such as table indices, keep their values up to this many elements."""


@dataclass(frozen=True)
class Shape:
    """A tensor in an operator's input; `values` are recorded for integers, if known."""

    sides: tuple[int, ...]
    strides: tuple[int, ...]
    type: torch.dtype
    values: torch.Tensor | None = field(default=None, compare=False, repr=False)
    host: bool = False
    """Whether the tensor was in the memory of the host, such as a batch before it is copied."""

    def __str__(self) -> str:
        text = f"{str(self.type).removeprefix('torch.')}[{','.join(map(str, self.sides))}]"
        if self.strides != _contiguous(self.sides):
            text += f"@({','.join(map(str, self.strides))})"
        return text

    def made(self, place: TensorPlace) -> torch.Tensor:
        """A tensor of this shape on a device: with the recorded integers, else numbers from 0 to 1.

        A tensor of the host stays there, pinned if the device is a GPU.
        """
        if self.host and place.device.type != "cpu":
            made = self.made(place._replace(device=torch.device("cpu")))
            return made.pin_memory() if place.device.type == "cuda" else made
        size = 1 + sum((n - 1) * step for n, step in zip(self.sides, self.strides, strict=True))
        if self.values is not None:
            return self.values.to(place.device, copy=True)
        count = 0 if 0 in self.sides else size
        if self.type.is_floating_point:
            flat = place._replace(type=self.type).filled(count, 0.0)
        else:
            flat = torch.zeros(count, dtype=self.type, device=place.device)
        return flat.as_strided(self.sides, self.strides)


class Sparse(NamedTuple):
    """A sparse tensor, whose entries are not recorded."""

    sides: tuple[int, ...]

    def __str__(self) -> str:
        return f"sparse[{','.join(map(str, self.sides))}]"


@dataclass
class Recorded:
    """An operator with one set of inputs: how to repeat the call, and its calls per step."""

    problem: Call
    function: Any
    given: Any
    count: int = 0

    def prepared(self, place: TensorPlace) -> Prepared:
        """The operator with tensors like its recorded inputs."""
        held: list[Any] = []

        def restore() -> None:
            held[:] = [tree_map(lambda leaf: _made(leaf, place), self.given, is_leaf=_is_shape)]

        restore()
        function = self.function

        def call() -> object:
            args, kwargs = held[0]
            return function(*args, **kwargs)

        # An operator that writes to its inputs would drive them to infinity or to zero
        changes = function._schema.is_mutable
        return Prepared(call, restore if changes else None)


def _is_shape(value: Any) -> bool:
    return isinstance(value, Shape | Sparse)


def _made(value: Any, place: TensorPlace) -> Any:
    if isinstance(value, Sparse):
        raise Unsupported("an input is a sparse tensor")
    if isinstance(value, Shape):
        return value.made(place)
    return place.device if isinstance(value, torch.device) else value


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records operator calls while it is entered.

    A tape also records the calls in order. Without a tape the tensors are fake, and reading a
    number returns 1.
    """

    def __init__(self, tape: Tape | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: dict[tuple[str, str, str], Recorded] = {}
        self._tape = tape
        self._updates = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call an operator and record it."""
        name, kwargs = func._overloadpacket._qualified_op_name, kwargs or {}
        call = call_on_fake if self._tape is None else _plainly
        if name.startswith((_MARKS, *_SILENT)):
            return call(func, args, kwargs)
        # Read before the call, which may change them
        inputs = args, kwargs
        kept = tree_map(_shaped, inputs)
        parts = self._tape.parts(inputs) if self._tape else None
        out = call(func, args, kwargs)
        if _works(func, inputs, out):
            problem = self._note(func, name, kept, (inputs, out))
            if self._tape:
                self._tape.add(problem, func, parts, out)
        return out

    def _note(self, func: Any, name: str, kept: Any, called: Any) -> Call:
        kind = "optimizer" if self._updates else kind_of(name)
        text = _text(kept)
        key = kind, str(func), text
        if key not in self.found:
            (args, _), out = called
            flop, sides = described(name, args, out)
            size = float(sum(size_of(tensor) for tensor in tensors_in(called)))
            problem = Call(kind, name, text, flop, size, tuple(sides.items()))
            self.found[key] = Recorded(problem, func, kept)
        self.found[key].count += 1
        return self.found[key].problem

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record operator calls, including those in optimizers."""
        with self, optimizer_step_hooks(self._update):
            yield

    def _update(self, begins: bool) -> None:
        self._updates = begins


def _plainly(func: Any, args: Any, kwargs: Any) -> Any:
    return func(*args, **kwargs)


def _shaped(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    if value.layout is not torch.strided:
        return Sparse(tuple(value.shape))
    whole = not value.is_floating_point() and not value.is_complex()
    fake = isinstance(value, torch._subclasses.FakeTensor)
    keeps = whole and not fake and value.numel() <= KEPT_VALUES
    return Shape(
        tuple(value.shape),
        tuple(value.stride()),
        value.dtype,
        value.detach().clone() if keeps else None,
        host=value.device.type == "cpu" and not fake,
    )


def _works(func: Any, inputs: Any, out: Any) -> bool:
    """Whether an operator does more than return a view of its inputs."""
    if func._schema.is_mutable:
        return True
    known = {storage_of(tensor) for tensor in tensors_in(inputs)}
    return any(storage_of(tensor) not in known for tensor in tensors_in(out))


def _text(kept: Any) -> str:
    args, kwargs = kept
    named = [f"{name}={_word(value)}" for name, value in kwargs.items()]
    return ", ".join([*map(_word, args), *named])


def _word(value: Any) -> str:
    if isinstance(value, list | tuple) and not isinstance(value, Sparse):
        return f"[{', '.join(map(_word, value))}]"
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, torch.Generator):
        return "generator"
    return str(value)


def _contiguous(sides: tuple[int, ...]) -> tuple[int, ...]:
    steps = [math.prod(max(n, 1) for n in sides[axis + 1 :]) for axis in range(len(sides))]
    return tuple(steps)
