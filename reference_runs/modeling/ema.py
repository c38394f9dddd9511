"""A model with the exponential moving average of its weights, which some benchmarks evaluate."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Generic, TypeVar

import torch
from torch import nn

M = TypeVar("M", bound=nn.Module)


class Averaged(nn.Module, Generic[M]):
    """Trains `trained`; `average` follows it. Both are saved in checkpoints."""

    def __init__(self, model: M) -> None:
        super().__init__()
        self.trained: M = model
        # Without gradients: neither the optimizer nor DDP may treat it as trainable
        self.average: M = deepcopy(model).requires_grad_(False)

    def forward(self, *inputs: Any) -> Any:
        """The output of the trained model."""
        return self.trained(*inputs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile both separately: an evaluation calls `average`."""
        self.trained.compile(*args, **kwargs)
        self.average.compile(*args, **kwargs)

    @torch.no_grad()
    def follow(self, decay: float) -> None:
        """Update the average to decay · average + (1 - decay) · trained."""
        # Parameters only: the averaged models have no running statistics
        pairs = zip(self.average.parameters(), self.trained.parameters(), strict=True)
        for average, trained in pairs:
            average.lerp_(trained, 1 - decay)
