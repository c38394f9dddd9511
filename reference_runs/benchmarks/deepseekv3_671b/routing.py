"""Experts chosen by sigmoid scores, and balanced by a bias without a gradient.

Source: DeepSeek-V3 technical report, 2024, section 2.1.2. Dimensions: B batch, L sequence length, D
model width, E experts, G groups of experts, A active experts per token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from podium.reference_runs.modeling.experts import Mixture

if TYPE_CHECKING:
    from collections.abc import Callable

    from podium.reference_runs.benchmarks.deepseekv3_671b.config import DeepSeekV3


class Balanced(Mixture):
    """Routed experts with a score correction that affects their choice, but not their weights."""

    exact_router: ClassVar[bool] = True

    correction: Tensor

    def __init__(self, config: DeepSeekV3) -> None:
        super().__init__(config.width, config.expert_width, config.experts, config.active_experts)
        self.groups, self.active_groups = config.expert_groups, config.active_groups
        self.scale = config.routed_scale
        self.register_buffer("correction", torch.zeros(config.experts))
        self.load: Tensor | None = None
        """Tokens per expert since the last correction, (E,). Not a buffer, since DDP broadcasts
        buffers from rank 0."""

    def forward(self, x_BLD: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """(B, L, D) to (B, L, D), and how unbalanced each sequence is, summed over sequences."""
        # In single precision, since close scores decide which experts are used
        with torch.autocast(x_BLD.device.type, enabled=False):
            scores_BLE = self.router(x_BLD.float()).sigmoid()
        weights_BLA, chosen_BLA = self.route(scores_BLE)
        if self.training:
            load = self.counted(chosen_BLA, self.count)
            self.load = load if self.load is None else self.load + load
        return self.routed(x_BLD, weights_BLA, chosen_BLA), imbalance(scores_BLE, self.active)

    def route(self, scores_BLE: Tensor) -> tuple[Tensor, Tensor]:
        """Weights and indices of the experts for each token, (B, L, A) each.

        The groups with the best pairs of experts are chosen first, then experts in these.
        """
        corrected_BLE = scores_BLE.detach() + self.correction
        corrected_BLGE = corrected_BLE.view(*corrected_BLE.shape[:-1], self.groups, -1)
        pairs_BLG = corrected_BLGE.topk(2, dim=-1).values.sum(-1)
        best = pairs_BLG.topk(self.active_groups, dim=-1).indices
        out_BLG = torch.ones_like(pairs_BLG, dtype=torch.bool).scatter(-1, best, value=False)
        inside_BLE = corrected_BLGE.masked_fill(out_BLG[..., None], -torch.inf).flatten(-2)
        chosen_BLA = inside_BLE.topk(self.active, dim=-1).indices
        weights_BLA = scores_BLE.gather(-1, chosen_BLA)
        return self.scale * weights_BLA / weights_BLA.sum(-1, keepdim=True), chosen_BLA


def imbalance(scores_BLE: Tensor, active: int) -> Tensor:
    """1 for a sequence whose tokens are spread evenly, up to E/A; summed over sequences.

    The sum over experts of their share of the tokens' first choices, without groups and correction,
    times their mean share of the scores, times E (equations 17 to 20).
    """
    _, length, count = scores_BLE.shape
    chosen_BLA = scores_BLE.topk(active, dim=-1).indices
    taken_BLE = torch.zeros_like(scores_BLE).scatter(-1, chosen_BLA, 1.0)
    share_BLE = scores_BLE / scores_BLE.sum(-1, keepdim=True)
    return (taken_BLE.sum(1) * share_BLE.sum(1)).sum() * count / (active * length**2)


@torch.no_grad()
def correct(
    model: nn.Module, rate: float, everywhere: Callable[[Tensor], Tensor] = lambda load: load
) -> None:
    """Move each expert's correction by the rate: up if its load is below the mean, otherwise down.

    `everywhere` sums loads over ranks. Only the sign matters, so blocks with recomputation may
    count their tokens twice.
    """
    mixtures = [module for module in model.modules() if isinstance(module, Balanced)]
    loads = everywhere(
        torch.stack([mixture.load for mixture in mixtures if mixture.load is not None])
    )
    for mixture, load_E in zip(mixtures, loads.double(), strict=True):
        mixture.correction += rate * (load_E.mean() - load_E).sign().type_as(mixture.correction)
        mixture.load = None
