"""The products of a step, to be measured again with inputs of the same shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_map


class _Like(NamedTuple):
    """A tensor by its shape, strides and type."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    type: torch.dtype

    def made(self, device: torch.device) -> torch.Tensor:
        """A tensor of this shape with random numbers."""
        tensor = torch.empty_strided(self.shape, self.strides, dtype=self.type, device=device)
        return tensor.uniform_() if self.type.is_floating_point else tensor.zero_()


@dataclass
class Product:
    """A product, convolution or attention, and its calls per step."""

    function: Any
    given: Any
    flop: float
    """FLOP of one call."""
    count: int = 0

    @property
    def text(self) -> str:
        """The inputs as text, which is equal for equal shapes."""
        return str(self.given)

    def call(self, device: torch.device) -> Any:
        """A function that runs the operator on new tensors."""
        args, kwargs = tree_map(lambda leaf: _made(leaf, device), self.given, is_leaf=_is_like)
        return lambda: self.function(*args, **kwargs)


def product_of(function: Any, inputs: Any, flop: float) -> Product:
    """The product of an operator call, without its tensors."""
    return Product(function, tree_map(_like, inputs), flop)


def _is_like(value: Any) -> bool:
    return isinstance(value, _Like)


def _like(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return _Like(tuple(value.shape), tuple(value.stride()), value.dtype)


def _made(value: Any, device: torch.device) -> Any:
    return value.made(device) if isinstance(value, _Like) else value
