"""A rank's share of the anchors, if images are divided among ranks by rows.

Dimensions: B images, A anchors of an image, K numbers per anchor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from podium.reference_runs.parallel.spatial import Rows


Level = tuple[int, int]
"""The side of a feature map in cells, and its anchors per cell."""


class Share:
    """The anchors at this rank's rows; all of them if `rows` is None."""

    mine: Tensor | slice = slice(None)
    """Indices of this rank's anchors, in the order of the network's output."""

    def __init__(
        self, levels: Sequence[Level], device: torch.device, rows: Rows | None = None
    ) -> None:
        self.rows = rows
        if rows is not None:
            self._of_ranks = [
                torch.cat([*_anchors(levels, rows, rank)]).to(device) for rank in range(rows.ranks)
            ]
            self.mine = self._of_ranks[rows.rank]

    def takes(self, image: int) -> bool:
        """Whether this rank detects objects in an image: all ranks have its output."""
        return self.rows is None or image % self.rows.ranks == self.rows.rank

    def total(self, part: Tensor) -> Tensor:
        """The sum of a loss over the ranks."""
        return part if self.rows is None else self.rows.total(part)

    def whole(self, output_BAK: Tensor) -> Tensor:
        """The outputs of all anchors, from those of each rank."""
        if self.rows is None:
            return output_BAK
        places = torch.cat(self._of_ranks)
        counts = [len(rank_places) for rank_places in self._of_ranks]
        found_ABK = self.rows.shared(output_BAK.transpose(0, 1), counts)
        return found_ABK[places.argsort()].transpose(0, 1)


def _anchors(levels: Sequence[Level], rows: Rows, rank: int) -> Iterator[Tensor]:
    """The indices of a rank's anchors, level by level."""
    first = 0
    for side, shapes in levels:
        begin, end = rows.spans(side)[rank]
        yield torch.arange(begin * side * shapes, end * side * shapes) + first
        first += side * side * shapes
