"""Fake tensors, which have shapes but no values, and the private parts of torch behind them.

This module contains every use of private torch APIs in plans.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import (
    FakeTensor,
    FakeTensorMode,
    UnsupportedOperatorException,
    unset_fake_temporarily,
)
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import debug
from torch.nn.attention.bias import CausalBias
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "FakeTensorMode",
    "SelectingAll",
    "UnsupportedOperatorException",
    "call_on_fake",
    "fake_batch",
    "fake_copy",
    "fake_process_group",
    "faking",
    "real_tensors_in",
    "unset_fake_temporarily",
]


@contextmanager
def faking(mode: FakeTensorMode) -> Iterator[None]:
    """Make all new tensors fake, except those whose values torch itself reads."""
    with ExitStack() as stack:
        stack.enter_context(mode)
        # A mesh determines its position among the ranks from values
        stack.enter_context(real_tensors_in(DeviceMesh, "__init__"))
        # The mask that represents a causal one is a tensor of another class
        stack.enter_context(real_tensors_in(CausalBias, "__new__"))
        yield


@contextmanager
def real_tensors_in(cls: type, method: str) -> Iterator[None]:
    """Run a method of a class with real tensors."""
    inherited = method not in vars(cls)
    original = getattr(cls, method)

    def with_real_tensors(*args: Any, **kwargs: Any) -> Any:
        with _disable_current_modes():
            return original(*args, **kwargs)

    setattr(cls, method, with_real_tensors)
    try:
        yield
    finally:
        if inherited:
            delattr(cls, method)
        else:
            setattr(cls, method, original)


@contextmanager
def fake_process_group(world: int, rank: int) -> Iterator[None]:
    """Emulate one rank of a group whose other ranks do not exist; messages are discarded."""
    # Registers the backend `fake`
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
    try:
        yield
    finally:
        # A cache of equal meshes would refer to the groups of this one; newer torch has it
        if clear := getattr(debug, "_clear_sharding_prop_cache", None):
            clear()
        dist.destroy_process_group()


def call_on_fake(func: Any, args: Any, kwargs: Any) -> Any:
    """Call an operator; reading the value of a fake tensor returns 1.

    The few real tensors are used as they are.
    """
    # torch asks for the device of each tensor many times
    if func is torch.ops.prim.device.default and isinstance(args[0], FakeTensor):
        return args[0].fake_device
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    if tensors and not any(isinstance(tensor, FakeTensor) for tensor in tensors):
        with unset_fake_temporarily():
            return func(*args, **kwargs)
    if func is torch.ops.aten._local_scalar_dense.default:
        number = args[0]
        return True if number.dtype is torch.bool else 1.0 if number.is_floating_point() else 1
    return func(*args, **kwargs)


class SelectingAll(TorchDispatchMode):
    """Masks without values select everything, which results in the largest shapes."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call an operator, with positions in place of a mask."""
        if func is torch.ops.aten.nonzero.default:
            return _all_positions(args[0])
        if func is torch.ops.aten.index.Tensor:
            args = args[0], [part for index in args[1] for part in _positions(index)]
        return func(*args, **kwargs or {})


def _positions(index: torch.Tensor | None) -> Iterable[torch.Tensor | None]:
    if isinstance(index, FakeTensor) and index.dtype is torch.bool:
        return _all_positions(index).unbind(1)
    return (index,)


def _all_positions(mask: torch.Tensor) -> torch.Tensor:
    return mask.new_zeros(mask.numel(), mask.dim(), dtype=torch.long)


def fake_batch(mode: FakeTensorMode, batch: Any) -> Any:
    """A batch with a fake tensor for each of its tensors."""
    return tree_map(
        lambda value: mode.from_tensor(value) if isinstance(value, torch.Tensor) else value, batch
    )


def fake_copy(model: torch.nn.Module) -> torch.nn.Module:
    """A model of the meta device with a fake CPU tensor for each of its tensors."""
    # Keyed by the tensor's address, with the tensor to keep the address in use; two modules that
    # share a tensor still share its copy
    copies: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    for module in model.modules():
        kinds: tuple[Any, ...] = (module._parameters, module._buffers, vars(module))
        for tensors in kinds:
            for name, tensor in tensors.items():
                if isinstance(tensor, torch.Tensor):
                    if id(tensor) not in copies:
                        copies[id(tensor)] = tensor, _empty_like(tensor)
                    tensors[name] = copies[id(tensor)][1]
    return model


def _empty_like(tensor: torch.Tensor) -> torch.Tensor:
    empty = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(empty, requires_grad=tensor.requires_grad)
    return empty
