"""Positional superko: no earlier board of a game may come back. Boards are told apart by a number.

A board's number is the sum of random numbers, one for each place and colour of a stone (Zobrist's
hashing, with addition for exclusive or). So a move changes it by the stones that come and go, and
the board after each move is known without playing any. Shape letters as in `layout.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from podium.reference_runs.benchmarks.minigo.groups import (
    NO_GROUP,
    each_group_once,
    in_atari,
    of_group,
    sums,
)
from podium.reference_runs.benchmarks.minigo.layout import BLACK, WHITE

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.minigo.layout import Array, Layout
    from podium.reference_runs.benchmarks.minigo.positions import Positions

HASH_BITS = 43
"""Of a stone's number: a double holds the sum of a whole board exactly."""


class Hashes:
    """The numbers of boards of one layout; two boards with the same number are taken for equal."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        rng = np.random.default_rng(0x60)
        numbers = rng.integers(1, 2**HASH_BITS, (2, layout.places))
        self._white_P, self._black_P = numbers.astype(np.float64)

    def of(self, stones_BP: Array) -> Array:
        """The number of each board, (B,)."""
        hashes_B: Array = self._numbers(stones_BP).sum(axis=1)
        return hashes_B

    def _numbers(self, stones_BP: Array) -> Array:
        """The number of each stone at its place, 0 where there is none, (B, P)."""
        white_BP = np.where(stones_BP == WHITE, self._white_P, 0)
        return np.where(stones_BP == BLACK, self._black_P, white_BP)

    def repeats(self, at: Positions, history_BT: Array) -> Array:
        """Which points, if played at, bring back one of T earlier boards of the game, (B, N)."""
        after_BN = self._after_each_move(at)
        repeats_BN = np.zeros(after_BN.shape, dtype=bool)
        for earlier_B in history_BT.T:
            repeats_BN |= after_BN == earlier_B[:, None]
        return repeats_BN

    def _after_each_move(self, at: Positions) -> Array:
        """The board's number after a stone at each point and the captures that it makes, (B, N)."""
        layout = self._layout
        capturable_BP = np.where(in_atari(at), at.labels, NO_GROUP)
        captured = each_group_once(layout.neighbours(capturable_BP))
        group_sums_BP = sums(layout, at.labels, self._numbers(at.stones))
        lost_BI = sum(of_group(group_sums_BP, label_BI) for label_BI in captured)
        black_plays_B1 = at.to_play[:, None] == BLACK
        added_BP = np.where(black_plays_B1, self._black_P, self._white_P)
        return layout.at_points(at.hashes[:, None] + layout.inner(added_BP) - lost_BI)
