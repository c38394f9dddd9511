"""Mixture of experts: each token passes through a few of the SwiGLU layers.

Dimensions: B batch, L sequence length, D model width, E experts, A active experts per token, T
tokens times A, I input and O output width of a product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.distributed import ProcessGroup


class Experts(nn.Module):
    """SwiGLU experts with separate tokens; along `ep` each rank has some of them."""

    def __init__(self, width: int, inner: int, count: int) -> None:
        super().__init__()
        self.gate_up = nn.Parameter(torch.empty(count, width, 2 * inner))
        self.down = nn.Parameter(torch.empty(count, inner, width))
        self.here: Callable[[Tensor], Tensor] = _whole
        """The local part of a weight, with the experts of this rank."""

    def forward(self, x_TD: Tensor, sizes_E: Tensor) -> Tensor:
        """(T, D) to (T, D): `sizes_E` tokens for each local expert, in the order of the experts."""
        gate, up = grouped(x_TD, self.here(self.gate_up), sizes_E).chunk(2, dim=-1)
        return grouped(F.silu(gate) * up, self.here(self.down), sizes_E)


def _whole(weight: Tensor) -> Tensor:
    return weight


def grouped(x_TI: Tensor, weight_EIO: Tensor, sizes_E: Tensor) -> Tensor:
    """Multiply each expert's tokens by its weight, (T, O); the first `sizes_E[0]` are expert 0's.

    Where torch has a grouped product that reads the sizes on the device, it is used. Otherwise the
    host waits for the sizes, once per weight.
    """
    device = x_TI.device.type
    # Autocast does not support grouped products
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
        x_TI, weight_EIO = x_TI.to(dtype), weight_EIO.to(dtype)
    if _can_be_grouped(weight_EIO):
        return F.grouped_mm(x_TI, weight_EIO, offs=sizes_E.cumsum(0, dtype=torch.int32))
    product: Tensor = _one_by_one(x_TI, weight_EIO, sizes_E)
    return product


# Sizes are Python numbers that vary: compilation would create a graph for many of them
@torch.compiler.disable  # type: ignore[untyped-decorator]
def _one_by_one(x_TI: Tensor, weight_EIO: Tensor, sizes_E: Tensor) -> Tensor:
    parts = torch.split(x_TI, sizes_E.tolist())
    return torch.cat([x @ weight for x, weight in zip(parts, weight_EIO, strict=True)])


def _can_be_grouped(weight_EIO: Tensor) -> bool:
    """Whether torch (2.10 or later) has grouped products of such weights, also in plans."""
    size = weight_EIO.element_size()
    aligned = all(length * size % 16 == 0 for length in weight_EIO.shape[1:])
    return hasattr(F, "grouped_mm") and weight_EIO.dtype is torch.bfloat16 and aligned


def counted(chosen: Tensor, count: int) -> Tensor:
    """How often each number below `count` was chosen, (count,); does not synchronize."""
    chosen = chosen.flatten()
    return chosen.new_zeros(count).scatter_add_(0, chosen, torch.ones_like(chosen))


class Mixture(nn.Module):
    """Experts, and a router that chooses a few for each token.

    The weights are a softmax over the scores of the chosen experts; models with other weights
    override `route`.
    """

    exact_router: ClassVar[bool] = False
    """Whether scores are computed in single precision regardless of the run's precision."""

    def __init__(self, width: int, inner: int, count: int, active: int) -> None:
        super().__init__()
        self.count, self.active = count, active
        self.router = nn.Linear(width, count, bias=False)
        self.experts = Experts(width, inner, count)
        self.group: ProcessGroup | None = None
        """The ranks that the experts are divided among."""
        self.counted = counted
        """Plans, which have no values, replace this function."""

    def route(self, scores_BLE: Tensor) -> tuple[Tensor, Tensor]:
        """Weights and indices of the experts for each token, (B, L, A) each."""
        scores, chosen = scores_BLE.topk(self.active, dim=-1)
        return scores.softmax(dim=-1), chosen

    def forward(self, x_BLD: Tensor) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        return self.routed(x_BLD, *self.route(self.router(x_BLD).float()))

    def routed(self, x_BLD: Tensor, weights_BLA: Tensor, chosen_BLA: Tensor) -> Tensor:
        """The weighted sum of the outputs of each token's experts, (B, L, D)."""
        x = x_BLD.flatten(0, 1)
        weight_T, chosen_T = weights_BLA.flatten(), chosen_BLA.flatten()
        # Stable, so that sums over an expert's tokens have the same order in every run
        order_T = chosen_T.argsort(stable=True)
        token_T = order_T // self.active
        done = self._through_experts(x[token_T], self.counted(chosen_T, self.count))
        weighted = done * weight_T[order_T, None].type_as(done)
        y = torch.zeros_like(x, dtype=done.dtype).index_add(0, token_T, weighted)
        return y.view(x_BLD.shape)

    def _through_experts(self, x_TD: Tensor, sizes_E: Tensor) -> Tensor:
        if self.group is None:
            done: Tensor = self.experts(x_TD, sizes_E)
            return done
        from podium.reference_runs.parallel.experts import through

        return through(self.experts, x_TD, sizes_E, self.group)
