"""Optimizers: LARS and LAMB for large batches, and row-wise Adagrad for embedding tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import torch
from torch.optim import Optimizer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor


class Layerwise(Optimizer, ABC):
    """An optimizer whose step updates one tensor at a time."""

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Take one step; closures are not supported."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._move(weight, group)

    @abstractmethod
    def _move(self, weight: Tensor, group: dict[str, Any]) -> None:
        """Update a tensor that has a gradient."""


class LARS(Layerwise):
    """Layer-wise adaptive rate scaling: momentum SGD with a step relative to each weight's norm.

    Source: You, Gitman, Ginsburg, "Large Batch Training of Convolutional Networks", 2017,
    algorithm 1. A group with `adapt=False` (norms and biases, according to the rules) uses plain
    momentum SGD.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        *,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        trust_coefficient: float = 0.001,
        eps: float = 0.0,
        adapt: bool = True,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "weight_decay": weight_decay,
            "trust_coefficient": trust_coefficient,
            "eps": eps,
            "adapt": adapt,
        }
        super().__init__(params, defaults)

    def _move(self, weight: Tensor, group: dict[str, Any]) -> None:
        update = weight.grad.add(weight, alpha=group["weight_decay"])  # type: ignore[union-attr]
        if group["adapt"]:
            update.mul_(self._local_rate(weight, group))
        state = self.state[weight]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(weight)
        # The learning rate is inside the momentum, as in the paper; in torch's SGD it is outside
        state["momentum"].mul_(group["momentum"]).add_(update, alpha=group["lr"])
        weight.sub_(state["momentum"])

    def _local_rate(self, weight: Tensor, group: dict[str, Any]) -> Tensor:
        """Trust · |w| / (|gradient| + decay · |w| + eps); 1 if a norm is 0."""
        size = torch.linalg.vector_norm(weight)
        slope = torch.linalg.vector_norm(weight.grad)
        divisor = slope + group["weight_decay"] * size + group["eps"]
        rate = group["trust_coefficient"] * size / divisor
        # Decided on the device: a condition in Python would wait for the norms
        return torch.where((size > 0) & (slope > 0), rate, torch.ones_like(rate))


class LAMB(Layerwise):
    """Adam's direction with weight decay, scaled relative to each tensor's norm.

    Source: You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes",
    2019 (ICLR 2020), algorithm 2, with the identity as its norm function. A group with
    `adapt=False` uses Adam with decoupled decay.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        adapt: bool = True,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "adapt": adapt,
        }
        super().__init__(params, defaults)

    def _move(self, weight: Tensor, group: dict[str, Any]) -> None:
        update = self._direction(weight, group).add_(weight, alpha=group["weight_decay"])
        if group["adapt"]:
            size, length = torch.linalg.vector_norm(weight), torch.linalg.vector_norm(update)
            trust = torch.where((size > 0) & (length > 0), size / length, torch.ones_like(size))
            update.mul_(trust)
        weight.sub_(update, alpha=group["lr"])

    def _direction(self, weight: Tensor, group: dict[str, Any]) -> Tensor:
        """Adam's step, with bias correction of both moments."""
        state = self.state[weight]
        if "step" not in state:
            state.update(step=0, mean=torch.zeros_like(weight), square=torch.zeros_like(weight))
        state["step"] += 1
        first, second = group["betas"]
        grad: Tensor = weight.grad  # type: ignore[assignment]
        state["mean"].lerp_(grad, 1 - first)
        state["square"].mul_(second).addcmul_(grad, grad, value=1 - second)
        mean = state["mean"] / (1 - first ** state["step"])
        square = state["square"] / (1 - second ** state["step"])
        direction: Tensor = mean / (square.sqrt_() + group["eps"])
        return direction


class RowWiseAdagrad(Layerwise):
    """Adagrad with one accumulator for each row of a table: the mean square of its gradient.

    Rows that a step does not use are unchanged. Source: Gupta et al., "Training Recommender
    Systems at Scale: Communication-Efficient Model and Data Parallelism", 2020 (arXiv 2010.08899).
    """

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, *, eps: float = 1e-8) -> None:
        super().__init__(params, {"lr": lr, "eps": eps})

    def _move(self, weight: Tensor, group: dict[str, Any]) -> None:
        grad: Tensor = weight.grad  # type: ignore[assignment]
        state = self.state[weight]
        if "sum" not in state:
            state["sum"] = torch.zeros_like(weight[:, 0])
        if not grad.is_sparse:
            state["sum"].add_(grad.square().mean(1))
            weight.sub_(grad * (group["lr"] / (state["sum"].sqrt() + group["eps"]))[:, None])
            return
        # The gradients of a row that was used more than once are summed before they are squared
        grad = grad.coalesce()
        rows, values = grad.indices()[0], grad.values()
        state["sum"].index_add_(0, rows, values.square().mean(1))
        rates = group["lr"] / (state["sum"][rows].sqrt() + group["eps"])
        weight.index_add_(0, rows, values * -rates[:, None])
