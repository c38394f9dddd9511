"""The number types in which a run computes, by the name of its precision."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch.distributed.fsdp import MixedPrecisionPolicy

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp8": torch.bfloat16}
"""Of autocast; what is not of 8 bits is in bf16."""


def autocast(device: torch.device, precision: str) -> AbstractContextManager[Any]:
    """Compute in half precision where a run's is one."""
    if precision not in TYPES:
        return nullcontext()
    # Without the cache, which would hold all weights a second time until the pass ends.
    return torch.autocast(device.type, dtype=TYPES[precision], cache_enabled=False)


def gathered(precision: str) -> MixedPrecisionPolicy:
    """How FSDP gathers weights: in the type that they are used in, which halves what is sent.

    Weights are kept, and gradients are summed, in single precision.
    """
    from torch.distributed.fsdp import MixedPrecisionPolicy

    if precision not in TYPES:
        return MixedPrecisionPolicy()
    return MixedPrecisionPolicy(
        param_dtype=TYPES[precision],
        reduce_dtype=torch.float32,
        # Angles and times need more digits than half precision has
        cast_forward_inputs=False,
    )
