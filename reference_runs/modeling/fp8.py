"""Linear layers with 8-bit products, from torchao: `--precision fp8`."""

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
"""Both dimensions of a layer must be multiples of this for torch's product."""
CAPABILITY = (8, 9)
"""Minimum compute capability of CUDA devices with 8-bit products (Ada, Hopper)."""


def check(name: str, parts: Sequence[str], device: torch.device) -> None:
    """Raise RunFault if a benchmark's model or a device has no 8-bit products.

    `parts` is the argument of `with_fp8`.
    """
    if not parts:
        raise RunFault(f"--precision fp8: {name} has no layers that support it; try bf16")
    if device.type == "cuda" and torch.cuda.get_device_capability(device) < CAPABILITY:
        raise RunFault(f"--precision fp8 requires CUDA capability 8.9, which {device} lacks")


def with_fp8(model: nn.Module, parts: Sequence[str]) -> nn.Module:
    """The model with the linear layers below `parts` replaced, with the same weights.

    Inputs, weights and gradients are scaled to the 8-bit range for each product; weights stay in
    single precision. Routers are unchanged, since close scores decide which experts are used.
    Layers are also unchanged if their dimensions are not multiples of 16. Raises LibraryMissing,
    RunFault.
    """
    try:
        with _errors_only("torchao", "torch.utils._pytree"):
            from torchao.float8 import convert_to_float8_training  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise LibraryMissing(
            "--precision fp8 requires torchao, which is not installed: pip install torchao"
        ) from None

    def chosen(layer: nn.Module, name: str) -> bool:
        # A subclass of Linear would lose its additions
        plain = type(layer) is nn.Linear and not name.endswith("router")
        return plain and name.startswith(tuple(parts)) and _fits(layer)

    if not any(chosen(layer, name) for name, layer in model.named_modules()):
        raise RunFault("--precision fp8: no layer has only multiples of 16 as dimensions; try bf16")
    converted: nn.Module = convert_to_float8_training(model, module_filter_fn=chosen)
    return converted


def _fits(layer: nn.Module) -> bool:
    return isinstance(layer, nn.Linear) and not any(side % SIDE for side in layer.weight.shape)


@contextmanager
def _errors_only(*loggers: str) -> Iterator[None]:
    """Suppress warnings, such as those about torchao kernels that are not needed here."""
    levels = {logger: logger.level for logger in map(logging.getLogger, loggers)}
    for logger in levels:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)
