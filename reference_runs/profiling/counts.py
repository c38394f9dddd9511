"""Counts of operators in one step: FLOP, bytes of tensors, bytes of new tensors."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from podium.reference_runs.kernels.operators import described
from podium.reference_runs.profiling.products import Product, product_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import nn

    from podium.reference_runs.profiling.profile import Phase


_LEAF = "torch::autograd::AccumulateGrad"
"""Autograd nodes that accumulate the gradient of a weight; they have no sequence number."""


COLLECTIVES = ("c10d", "_c10d_functional")
"""Namespaces of the operators that communicate with other ranks."""


class OperatorCall(NamedTuple):
    """The place of an operator call: innermost module, phase, and operator name (aten::mm)."""

    module: str
    phase: Phase
    operator: str


class Count(NamedTuple):
    """The sums over all calls in a place: FLOP, bytes of tensor traffic, bytes of new tensors."""

    flop: float = 0
    bytes: float = 0
    allocated: float = 0

    def plus(self, other: Count) -> Count:
        """The sum of both."""
        return Count(*(a + b for a, b in zip(self, other, strict=True)))


class Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts while it is entered.

    FLOP are those of matrix products, convolutions and attention; elementwise operators count no
    FLOP. Views move no bytes.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: dict[OperatorCall, Count] = defaultdict(Count)
        self.products: dict[tuple[str, str], Product] = {}
        """The products, convolutions and attention of the step, by operator and inputs."""
        self.moved: list[float] = []
        """Bytes of tensors of each operator call that moves any."""
        self.sent: list[int] = []
        """Bytes of each collective, in the order of the calls."""
        self._open: list[str] = []
        self._changes: list[tuple[int, str]] = []
        self._updates = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call an operator and count it."""
        out = func(*args, **(kwargs or {}))
        name = func._overloadpacket._qualified_op_name
        # Profiler ranges do no work
        if name.startswith("profiler::"):
            return out
        place = OperatorCall(*self._place(), name)
        count = _count(func, args, kwargs or {}, out)
        self.found[place] = self.found[place].plus(count)
        self._note(func, (args, kwargs or {}), count)
        return out

    def _note(self, func: Any, inputs: tuple[Any, Any], count: Count) -> None:
        """Keep the sizes of a call, with which the roofs are measured."""
        if func.namespace in COLLECTIVES:
            # A collective without a tensor is a barrier, and a wait sends nothing
            size = 0 if "wait" in func.__name__ else sum(map(size_of, tensors_in(inputs)))
            self.sent += [size] if size else []
            return
        self.moved += [count.bytes] if count.bytes else []
        if count.flop:
            made = product_of(func, inputs, count.flop)
            known = self.products.setdefault((str(func), made.text), made)
            known.count += 1

    def _place(self) -> tuple[str, Phase]:
        if self._updates:
            return "", "optimizer"
        node = torch._C._current_autograd_node()
        if node is not None:
            # A forward pass inside the backward pass is a recomputation for its gradients
            return (self._open[-1] if self._open else self._made_by(node)), "backward"
        return (self._open[-1], "forward") if self._open else ("", "other")

    def _made_by(self, node: Any) -> str:
        """The module whose forward pass created a node: sequence numbers ascend in that order."""
        position = bisect_right(self._changes, node._sequence_nr(), key=lambda change: change[0])
        return self._changes[position - 1][1] if position and node.name() != _LEAF else ""

    @contextmanager
    def counting(self, model: nn.Module) -> Iterator[None]:
        """Count the calls, and attribute them to the modules and optimizers."""
        handles: list[Any] = []
        for name, module in model.named_modules():
            handles.append(module.register_forward_pre_hook(self._enter(name)))
            handles.append(module.register_forward_hook(self._leave, always_call=True))
        try:
            with self, optimizer_step_hooks(self._update):
                yield
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, name: str) -> Callable[..., None]:
        def hook(*_: Any) -> None:
            self._open.append(name)
            self._changed()

        return hook

    def _leave(self, *_: Any) -> None:
        self._open.pop()
        self._changed()

    def _changed(self) -> None:
        now = torch.autograd._get_sequence_nr()  # type: ignore[attr-defined]
        self._changes.append((now, self._open[-1] if self._open else ""))

    def _update(self, begins: bool) -> None:
        self._updates = begins


@contextmanager
def optimizer_step_hooks(tell: Callable[[bool], None]) -> Iterator[None]:
    """Call `tell` when an optimizer step begins (True) and ends (False)."""
    hooks = [
        register_optimizer_step_pre_hook(lambda *_: tell(True)),
        register_optimizer_step_post_hook(lambda *_: tell(False)),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _count(func: Any, args: Any, kwargs: Any, out: Any) -> Count:
    taken, outputs = tensors_in((args, kwargs)), tensors_in(out)
    packet = func._overloadpacket
    flop, sides = described(packet._qualified_op_name, args, out)
    # torch has formulas for further operators, such as 8-bit products
    if not sides and (formula := flop_registry.get(packet)):
        flop = formula(*args, **kwargs, out_val=out)
    known = {storage_of(tensor) for tensor in taken}
    new = sum(size_of(tensor) for tensor in outputs if storage_of(tensor) not in known)
    if not new and not func._schema.is_mutable:
        return Count(flop)
    return Count(flop, sum(map(size_of, taken)) + sum(map(size_of, outputs)), new)


def tensors_in(values: Any) -> list[torch.Tensor]:
    """The tensors in the inputs or outputs of an operator."""
    return [value for value in tree_leaves(values) if isinstance(value, torch.Tensor)]


def storage_of(tensor: torch.Tensor) -> int:
    """An identifier of a tensor's storage, which other tensors may share."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except NotImplementedError:  # sparse tensors have no storage
        return id(tensor)


def size_of(tensor: torch.Tensor) -> int:
    """Bytes of a tensor; 0 for a sparse tensor."""
    if tensor.layout is not torch.strided:
        return 0
    return tensor.numel() * tensor.element_size()
