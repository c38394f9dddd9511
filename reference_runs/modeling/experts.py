"""Mixtures of experts: SwiGLU layers of which each token goes through a few.

Shape letters: B batch, L sequence length, D model width, E experts, A experts that a token goes
through, T tokens times those, I and O what goes into a product and comes out.
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
    """SwiGLU layers, each with its own tokens; along `ep` a rank has a part of them."""

    def __init__(self, width: int, inner: int, count: int) -> None:
        super().__init__()
        self.gate_up = nn.Parameter(torch.empty(count, width, 2 * inner))
        self.down = nn.Parameter(torch.empty(count, inner, width))
        self.here: Callable[[Tensor], Tensor] = _whole
        """Of a weight, the part for the experts that are here."""

    def forward(self, x_TD: Tensor, sizes_E: Tensor) -> Tensor:
        """(T, D) to (T, D): `sizes_E` tokens for each expert that is here, one after the other."""
        gate, up = grouped(x_TD, self.here(self.gate_up), sizes_E).chunk(2, dim=-1)
        return grouped(F.silu(gate) * up, self.here(self.down), sizes_E)


def _whole(weight: Tensor) -> Tensor:
    return weight


def grouped(x_TI: Tensor, weight_EIO: Tensor, sizes_E: Tensor) -> Tensor:
    """Each expert's tokens times its weight, (T, O); the first `sizes_E[0]` are the first one's.

    In one product that reads the sizes on the device, where torch has one: else the host waits for
    them, once for each weight.
    """
    device = x_TI.device.type
    # Autocast knows no grouped products
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
        x_TI, weight_EIO = x_TI.to(dtype), weight_EIO.to(dtype)
    if _can_be_grouped(weight_EIO):
        return F.grouped_mm(x_TI, weight_EIO, offs=sizes_E.cumsum(0, dtype=torch.int32))
    found: Tensor = _one_by_one(x_TI, weight_EIO, sizes_E)
    return found


# Sizes are Python numbers, other ones at each step: compiled would be a graph for many of them
@torch.compiler.disable  # type: ignore[untyped-decorator]
def _one_by_one(x_TI: Tensor, weight_EIO: Tensor, sizes_E: Tensor) -> Tensor:
    parts = torch.split(x_TI, sizes_E.tolist())
    return torch.cat([x @ weight for x, weight in zip(parts, weight_EIO, strict=True)])


def _can_be_grouped(weight_EIO: Tensor) -> bool:
    """Whether torch (from 2.10 on) groups products of such weights, on the device and in plans."""
    size = weight_EIO.element_size()
    aligned = all(length * size % 16 == 0 for length in weight_EIO.shape[1:])
    return hasattr(F, "grouped_mm") and weight_EIO.dtype is torch.bfloat16 and aligned


def counted(chosen: Tensor, count: int) -> Tensor:
    """How often each number below `count` was chosen, (count,); the host does not wait for it."""
    chosen = chosen.flatten()
    return chosen.new_zeros(count).scatter_add_(0, chosen, torch.ones_like(chosen))


class Mixture(nn.Module):
    """Experts, of which each token goes through the few that a router chooses.

    Their weights are those of a softmax over the scores of the chosen ones; `route` is what a model
    with other weights overrides.
    """

    exact_router: ClassVar[bool] = False
    """Whether scores are computed in single precision whatever the precision of the run is."""

    def __init__(self, width: int, inner: int, count: int, active: int) -> None:
        super().__init__()
        self.count, self.active = count, active
        self.router = nn.Linear(width, count, bias=False)
        self.experts = Experts(width, inner, count)
        self.group: ProcessGroup | None = None
        """The ranks that the experts are divided among."""
        self.counted = counted
        """A plan, which has no numbers, puts its own in place."""

    def route(self, scores_BLE: Tensor) -> tuple[Tensor, Tensor]:
        """Weights and numbers of the experts that each token goes through, (B, L, A) each."""
        scores, chosen = scores_BLE.topk(self.active, dim=-1)
        return scores.softmax(dim=-1), chosen

    def forward(self, x_BLD: Tensor) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        return self.routed(x_BLD, *self.route(self.router(x_BLD).float()))

    def routed(self, x_BLD: Tensor, weights_BLA: Tensor, chosen_BLA: Tensor) -> Tensor:
        """The weighted sum of what the chosen experts make of each token, (B, L, D)."""
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
