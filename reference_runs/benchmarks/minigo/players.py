"""Who judges positions for the search: a network, or the rules of scoring alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from podium.reference_runs.benchmarks.minigo.features import planes

if TYPE_CHECKING:
    from torch import nn

    from podium.reference_runs.benchmarks.minigo.board import Goban
    from podium.reference_runs.benchmarks.minigo.layout import Array
    from podium.reference_runs.benchmarks.minigo.positions import Positions


class Network:
    """A policy-value network as the search calls it."""

    def __init__(self, goban: Goban, model: nn.Module, device: torch.device) -> None:
        self._goban, self._model, self._device = goban, model, device

    def __call__(self, at: Positions, legal: Array) -> tuple[Array, Array]:
        """Priors and values, from one forward pass."""
        inputs = torch.from_numpy(planes(self._goban, at)).to(self._device).float()
        with torch.no_grad():
            policy, value = self._model(inputs)
            # A pass is always legal, so that no row is masked whole
            mask = torch.from_numpy(legal).to(self._device)
            prior = policy.float().masked_fill(~mask, -torch.inf).softmax(-1)
        return prior.cpu().numpy(), value.float().cpu().numpy()


class Territory:
    """Every legal move is as good as another; a position is worth the lead in area."""

    def __init__(self, goban: Goban, komi: float) -> None:
        self._goban, self._komi = goban, komi

    def __call__(self, at: Positions, legal: Array) -> tuple[Array, Array]:
        """Even priors, and a value that nears 1 where the lead is a fifth of the board."""
        lead = (self._goban.area(at) - self._komi) * at.to_play
        value = np.tanh(lead / (self._goban.points / 5))
        prior = legal / legal.sum(axis=1, keepdims=True)
        return prior.astype(np.float32), value.astype(np.float32)
