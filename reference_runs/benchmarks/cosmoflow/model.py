"""CosmoFlow: convolutions in three dimensions, then dense layers to the universe's parameters.

Source: Mathuriya et al., CosmoFlow: Using Deep Learning to Learn the Universe at Scale (2018),
with the layers of the MLPerf HPC benchmark. Dimensions: B volumes, C channels, X edge, P
parameters.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from torch import Tensor, nn

from podium.reference_runs.modeling.maps import MapLinear

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.cosmoflow.config import CosmoFlow

REACH = 1.2
"""The last tanh is scaled beyond the parameters' range of -1 to 1, so it can reach the ends."""


class Regressor(nn.Module):
    """Convolutions that halve the volume and add channels, and three dense layers."""

    def __init__(self, config: CosmoFlow) -> None:
        super().__init__()
        widths = (config.channels, *config.filters)
        self.convolutions = nn.Sequential(
            *(_halving(inputs, outputs) for inputs, outputs in pairwise(widths))
        )
        edge = config.size // 2 ** len(config.filters)
        first, second = config.dense_widths
        self.dense = nn.Sequential(
            MapLinear(config.filters[-1], edge, first),
            nn.LeakyReLU(SLOPE),
            nn.Dropout(config.dropout),
            nn.Linear(first, second),
            nn.LeakyReLU(SLOPE),
            nn.Dropout(config.dropout),
            nn.Linear(second, config.parameters),
            nn.Tanh(),
        )
        self.apply(_initialise)

    def forward(self, volumes_BCXXX: Tensor) -> Tensor:
        """The parameters of each volume's universe, (B, P), from -1.2 to 1.2."""
        parameters_BP: Tensor = self.dense(self.convolutions(volumes_BCXXX))
        return parameters_BP * REACH


SLOPE = 0.3
"""Slope of the leaky ReLU for negative inputs."""


def _halving(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv3d(inputs, outputs, 3, padding=1), nn.LeakyReLU(SLOPE), nn.MaxPool3d(2)
    )


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Conv3d | nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
