"""Linear layers whose products are of numbers of 8 bits, by torchao: `--precision fp8`."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import nn

from podium.reference_runs.errors import LibraryMissing, RunFault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SIDE = 16
"""What both sides of a layer must be multiples of, for the product of torch."""
CAPABILITY = (8, 9)
"""From which on CUDA devices multiply numbers of 8 bits (Ada, Hopper)."""


def check(name: str, parts: Sequence[str], device: torch.device) -> None:
    """Raise RunFault where a benchmark's model or a device has no products of 8 bits.

    `parts` is what `with_fp8` is called with.
    """
    if not parts:
        raise RunFault(f"--precision fp8: {name} has no layers for it; try bf16")
    if device.type == "cuda" and torch.cuda.get_device_capability(device) < CAPABILITY:
        raise RunFault(f"--precision fp8: {device} has none; it came with CUDA capability 8.9")


def with_fp8(model: nn.Module, parts: Sequence[str]) -> nn.Module:
    """The model with its linear layers below `parts` made anew around the same weights.

    Their inputs, weights and gradients are scaled to the range of 8 bits for each product; weights
    stay in single precision. Left as they are: routers, since near scores decide which experts
    work, and layers with sides that are no multiples of 16. Raises LibraryMissing, RunFault.
    """
    try:
        with _errors_only("torchao", "torch.utils._pytree"):
            from torchao.float8 import convert_to_float8_training  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise LibraryMissing(
            "--precision fp8 needs torchao, which is not installed: pip install torchao"
        ) from None

    def chosen(layer: nn.Module, name: str) -> bool:
        # A class derived from Linear would lose what it adds
        plain = type(layer) is nn.Linear and not name.endswith("router")
        return plain and name.startswith(tuple(parts)) and _fits(layer)

    if not any(chosen(layer, name) for name, layer in model.named_modules()):
        raise RunFault("--precision fp8: no layer has sides that are multiples of 16; try bf16")
    converted: nn.Module = convert_to_float8_training(model, module_filter_fn=chosen)
    return converted


def _fits(layer: nn.Module) -> bool:
    return isinstance(layer, nn.Linear) and not any(side % SIDE for side in layer.weight.shape)


@contextmanager
def _errors_only(*loggers: str) -> Iterator[None]:
    """Without warnings: that torchao lacks kernels, for one, of which none are needed here."""
    levels = {each: each.level for each in map(logging.getLogger, loggers)}
    for each in levels:
        each.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for each, level in levels.items():
            each.setLevel(level)
