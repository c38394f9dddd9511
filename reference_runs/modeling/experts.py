"""Mixtures of experts: SwiGLU layers of which each token goes through a few.

Shape letters: B batch, L sequence length, D model width, E experts, A experts that a token goes
through, T tokens times those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

    # Sizes are Python numbers, other ones at each step: compiled would be a graph for many of them
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, x_TD: Tensor, sizes: list[int]) -> Tensor:
        """(T, D) to (T, D): `sizes` tokens for each expert that is here, one after the other."""
        gate_up, down = self.here(self.gate_up), self.here(self.down)
        parts = torch.split(x_TD, sizes)
        return torch.cat([_expert(*each) for each in zip(parts, gate_up, down, strict=True)])


def _whole(weight: Tensor) -> Tensor:
    return weight


def _expert(x: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
    """What one expert makes of the tokens that chose it."""
    gate, up = (x @ gate_up).chunk(2, dim=-1)
    y: Tensor = (F.silu(gate) * up) @ down
    return y


class Mixture(nn.Module):
    """Experts, of which each token goes through the few that a router chooses.

    Their weights are those of a softmax over the scores of the chosen ones; `route` is what a model
    with other weights overrides.
    """

    def __init__(self, width: int, inner: int, count: int, active: int) -> None:
        super().__init__()
        self.count, self.active = count, active
        self.router = nn.Linear(width, count, bias=False)
        self.experts = Experts(width, inner, count)
        self.group: ProcessGroup | None = None
        """The ranks that the experts are divided among."""

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
        sizes_E = torch.bincount(chosen_T, minlength=self.count)
        done = self._through_experts(x[token_T], sizes_E)
        weighted = done * weight_T[order_T, None].type_as(done)
        y = torch.zeros_like(x, dtype=done.dtype).index_add(0, token_T, weighted)
        return y.view(x_BLD.shape)

    def _through_experts(self, x_TD: Tensor, sizes_E: Tensor) -> Tensor:
        if self.group is None:
            done: Tensor = self.experts(x_TD, sizes_E.tolist())
            return done
        from podium.reference_runs.parallel.experts import through

        return through(self.experts, x_TD, sizes_E, self.group)
