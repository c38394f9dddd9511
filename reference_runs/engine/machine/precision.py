"""The number types of a run, by the name of its precision."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch.distributed.fsdp import MixedPrecisionPolicy

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp8": torch.bfloat16}
"""Data types for autocast; operations that are not in 8 bits use bf16."""


def autocast(device: torch.device, precision: str) -> AbstractContextManager[Any]:
    """Autocast to half precision if the run's precision requires it."""
    if precision not in TYPES:
        return nullcontext()
    # Without the cache, which would keep a second copy of all weights until the pass ends.
    return torch.autocast(device.type, dtype=TYPES[precision], cache_enabled=False)


def gathered(precision: str) -> MixedPrecisionPolicy:
    """FSDP's mixed precision: weights are gathered in the compute type, which halves the traffic.

    Weights are stored and gradients are reduced in single precision.
    """
    from torch.distributed.fsdp import MixedPrecisionPolicy

    if precision not in TYPES:
        return MixedPrecisionPolicy()
    return MixedPrecisionPolicy(
        param_dtype=TYPES[precision],
        reduce_dtype=torch.float32,
        # Angles and times need more precision than half types have
        cast_forward_inputs=False,
    )
