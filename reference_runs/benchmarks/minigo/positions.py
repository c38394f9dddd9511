"""Positions of many games at once, as arrays with a row for each.

Shape letters: B boards, P places of a board's padded row (`layout.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np

from podium.reference_runs.benchmarks.minigo.layout import BLACK, EMPTY, WALL

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.minigo.layout import Array, Layout

HISTORY = 4
"""Boards that a position remembers for the network, its own included."""


@dataclass(frozen=True)
class Positions:
    """B positions: what is on the board, what follows from it by groups, and whose turn it is."""

    boards: Array
    """EMPTY, BLACK, WHITE or WALL of the last boards, the newest first, (B, HISTORY, P)."""
    labels: Array
    """Which group the stone at a place belongs to, (B, P), as `groups.py` numbers them."""
    liberties: Array
    """How many liberties the group at a place has, (B, P); 0 where there is no stone."""
    to_play: Array
    """The colour whose turn it is, (B,)."""
    passes: Array
    """Passes in a row, as the last moves, (B,)."""
    moves: Array
    """Moves made so far, (B,)."""
    hashes: Array
    """A number for the board, equal for equal boards, (B,)."""
    captured: Array
    """Whether a stone was ever captured, (B,); a board cannot come back before that."""

    @classmethod
    def start(cls, layout: Layout, count: int) -> Self:
        """So many empty boards, black to play."""
        boards_BHP = np.full((count, HISTORY, layout.places), WALL, dtype=np.int8)
        boards_BHP[:, :, layout.place_of] = EMPTY
        return cls(
            boards=boards_BHP,
            labels=np.zeros((count, layout.places), dtype=np.int16),
            liberties=np.zeros((count, layout.places), dtype=np.int16),
            to_play=np.full(count, BLACK, dtype=np.int8),
            passes=np.zeros(count, dtype=np.int8),
            moves=np.zeros(count, dtype=np.int32),
            hashes=np.zeros(count),
            captured=np.zeros(count, dtype=bool),
        )

    @property
    def stones(self) -> Array:
        """The board now, (B, P)."""
        stones_BP: Array = self.boards[:, 0]
        return stones_BP

    def __len__(self) -> int:
        return len(self.to_play)

    def take(self, rows: Array) -> Self:
        """A copy of some rows."""
        return type(self)(*(getattr(self, f.name)[rows] for f in fields(self)))

    def put(self, rows: Array, other: Positions) -> None:
        """Overwrite some rows."""
        for f in fields(self):
            getattr(self, f.name)[rows] = getattr(other, f.name)
