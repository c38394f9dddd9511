"""A model with the running average of its weights, which is what some benchmarks evaluate."""

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
        # Without gradients: neither the optimizer nor DDP may take it for a part that learns
        self.average: M = deepcopy(model).requires_grad_(False)

    def forward(self, *inputs: Any) -> Any:
        """What the model that is being trained makes of its inputs."""
        return self.trained(*inputs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile both by themselves: an evaluation calls `average`."""
        self.trained.compile(*args, **kwargs)
        self.average.compile(*args, **kwargs)

    @torch.no_grad()
    def follow(self, decay: float) -> None:
        """Move the average to decay · average + (1 - decay) · trained."""
        # Parameters only: the models that are averaged have no running statistics
        pairs = zip(self.average.parameters(), self.trained.parameters(), strict=True)
        for average, trained in pairs:
            average.lerp_(trained, 1 - decay)
