"""Experts chosen by sigmoid scores, and kept balanced by a bias that no gradient moves.

Source: DeepSeek-V3 technical report, 2024, section 2.1.2. Shape letters: B batch, L sequence
length, D model width, E experts, G groups of experts, A experts that a token goes through.
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
    """Routed experts whose choice, not whose weight, depends on a correction of their scores."""

    exact_router: ClassVar[bool] = True

    correction: Tensor

    def __init__(self, config: DeepSeekV3) -> None:
        super().__init__(config.width, config.expert_width, config.experts, config.active_experts)
        self.groups, self.active_groups = config.expert_groups, config.active_groups
        self.scale = config.routed_scale
        self.register_buffer("correction", torch.zeros(config.experts))
        self.load: Tensor | None = None
        """Tokens that chose each expert since the last correction, (E,). No buffer, which ranks
        would be given by the first of them."""

    def forward(self, x_BLD: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """(B, L, D) to (B, L, D), and how unbalanced each sequence is, summed over sequences."""
        # In single precision, since near scores decide which experts work
        with torch.autocast(x_BLD.device.type, enabled=False):
            scores_BLE = self.router(x_BLD.float()).sigmoid()
        weights_BLA, chosen_BLA = self.route(scores_BLE)
        if self.training:
            load = self.counted(chosen_BLA, self.count)
            self.load = load if self.load is None else self.load + load
        return self.routed(x_BLD, weights_BLA, chosen_BLA), imbalance(scores_BLE, self.active)

    def route(self, scores_BLE: Tensor) -> tuple[Tensor, Tensor]:
        """Weights and numbers of the experts that each token goes through, (B, L, A) each.

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

    The sum over experts of their share of the tokens' first choices, as if there were no groups and
    no correction, times their mean share of the scores, times E (equations 17 to 20).
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
    """Move each expert's correction by the rate: up where its load is below the mean, or down.

    `everywhere` sums loads over ranks. Only the sign counts, so that it does not matter that a
    block which computes its activations anew counts its tokens twice.
    """
    mixtures = [each for each in model.modules() if isinstance(each, Balanced)]
    loads = everywhere(torch.stack([each.load for each in mixtures if each.load is not None]))
    for mixture, load_E in zip(mixtures, loads.double(), strict=True):
        mixture.correction += rate * (load_E.mean() - load_E).sign().type_as(mixture.correction)
        mixture.load = None
