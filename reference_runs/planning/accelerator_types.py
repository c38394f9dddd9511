"""The number types that autocast chooses on a GPU, for plans, whose tensors are on the CPU."""

from __future__ import annotations

from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom
from torch.utils._pytree import tree_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SINGLE: Final = (
    *((F, name) for name in ("group_norm", "layer_norm", "log_softmax", "normalize", "softmax")),
    *((torch.Tensor, name) for name in ("log_softmax", "norm", "softmax")),
)
"""Functions for large tensors that autocast computes in single precision on CUDA only."""

UNCHANGED: Final = ((F, "max_pool3d"), (F, "avg_pool3d"))
"""Functions that autocast computes in single precision on the CPU only."""


@contextmanager
def accelerator_types() -> Iterator[None]:
    """Let autocast of the CPU choose the types that CUDA's autocast chooses.

    The lists are parts of those in torch's documentation, "CUDA Ops that can autocast to float32"
    and "CPU Ops that can autocast to float32". The functions are replaced, since a mode of torch
    does not apply to blocks that the backward pass computes again.
    """
    replaced = {place: getattr(*place) for place in (*SINGLE, *UNCHANGED)}
    for place, function in replaced.items():
        setattr(*place, _in_single(function) if place in SINGLE else _without_autocast(function))
    try:
        yield
    finally:
        for place, function in replaced.items():
            setattr(*place, function)


def _in_single(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def converted(*args: Any, **kwargs: Any) -> Any:
        if torch.is_autocast_enabled("cpu"):
            args, kwargs = tree_map(_single, (args, kwargs))
        return function(*args, **kwargs)

    return converted


def _single(value: Any) -> Any:
    half = isinstance(value, torch.Tensor) and value.dtype in (torch.bfloat16, torch.float16)
    return value.float() if half else value


def _without_autocast(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def unchanged(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast("cpu", enabled=False):
            return function(*args, **kwargs)

    return unchanged
