"""The rules of Go on a board of any size, for many games at once.

Captures, no suicide, positional superko (`superko.py`) and area scoring (`scoring.py`). A move is
a point from 0, row by row, and `size * size` is a pass. Shape letters: B boards, P places of a
board's padded row, I inner places of it (`layout.py`), N points, A moves, T earlier boards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from podium.reference_runs.benchmarks.minigo.groups import NO_GROUP, in_atari, liberties, members
from podium.reference_runs.benchmarks.minigo.layout import BLACK, EMPTY, WHITE, Layout
from podium.reference_runs.benchmarks.minigo.positions import Positions
from podium.reference_runs.benchmarks.minigo.scoring import area
from podium.reference_runs.benchmarks.minigo.superko import Hashes

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.minigo.layout import Array


class Goban(Layout):
    """A board with `size` lines each way, and what may be played on it."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.moves = self.points + 1
        self._hashes = Hashes(self)

    def start(self, count: int) -> Positions:
        """So many empty boards, black to play."""
        return Positions.start(self, count)

    def setup(self, diagram: str, to_play: int = BLACK) -> Positions:
        """One position from a diagram: X is black, O is white, anything else but blanks is free."""
        signs = "".join(diagram.split())
        at = self.start(1)
        for color, own_sign in ((BLACK, "X"), (WHITE, "O")):
            for point in (point for point, sign in enumerate(signs) if sign == own_sign):
                at.to_play[:] = color
                at = self.play(at, np.array([point]))
        at.to_play[:] = to_play
        at.boards[:, 1:] = self.start(1).boards[:, 1:]  # no board came before
        return at

    # --- playing a move ---

    def play(self, at: Positions, moves_B: Array) -> Positions:
        """The positions after one legal move each."""
        placed_B = moves_B < self.points  # the others pass
        stones_BP, labels_BP, captures_B = self._place(at, moves_B, placed_B)
        return Positions(
            boards=np.concatenate((stones_BP[:, None], at.boards[:, :-1]), axis=1),
            labels=labels_BP,
            liberties=liberties(self, stones_BP, labels_BP),
            to_play=-at.to_play,
            passes=np.where(placed_B, 0, at.passes + 1).astype(np.int8),
            moves=at.moves + 1,
            hashes=self._hashes.of(stones_BP),
            captured=at.captured | captures_B,
        )

    def _place(self, at: Positions, moves_B: Array, placed_B: Array) -> tuple[Array, Array, Array]:
        """Stones and labels, (B, P), after the moves that place a stone, and which moves capture.

        Own groups need no look at their liberties: `legal` lets no move through that leaves none.
        """
        rows_B1 = np.arange(len(at))[:, None]
        place_B = self.place_of[np.where(placed_B, moves_B, 0)]  # where a board passes: any
        around = rows_B1, place_B[:, None] + np.array(self.shifts)
        group_B4 = at.labels[around]
        captures_B4 = placed_B[:, None] & in_atari(at)[around]
        joins_B4 = placed_B[:, None] & (at.stones[around] == at.to_play[:, None])

        stones_BP, labels_BP = at.stones.copy(), at.labels.copy()
        captured_BP = members(labels_BP, group_B4, captures_B4)
        stones_BP[captured_BP], labels_BP[captured_BP] = EMPTY, NO_GROUP
        # The new stone's place is the label of its group, and of what it joins
        np.copyto(labels_BP, place_B[:, None], where=members(labels_BP, group_B4, joins_B4))
        new = rows_B1[placed_B, 0], place_B[placed_B]
        stones_BP[new], labels_BP[new] = at.to_play[placed_B], place_B[placed_B]
        return stones_BP, labels_BP, captures_B4.any(axis=1)

    # --- what may be played ---

    def legal(self, at: Positions, history_BT: Array | None = None) -> Array:
        """Which moves may be played, (B, A); a pass always may.

        `history_BT` has the hashes of each game's earlier boards, NaN where there are fewer;
        without it superko is not looked at.
        """
        empty_BP = at.stones == EMPTY
        own_BP = at.stones == at.to_play[:, None]
        # A stone has a liberty if one of these is beside it: an empty place, an own group that has
        # another liberty than the stone's place, a group that the stone captures
        breath_BP = empty_BP | (own_BP & (at.liberties > 1)) | in_atari(at)
        legal_BA = np.ones((len(at), self.moves), dtype=bool)
        legal_BA[:, :-1] = self.at_points(self.inner(empty_BP) & self.beside(breath_BP))
        if history_BT is not None and at.captured.any():
            rows = np.flatnonzero(at.captured)
            legal_BA[rows, :-1] &= ~self._hashes.repeats(at.take(rows), history_BT[rows])
        return legal_BA

    def captures(self, at: Positions) -> Array:
        """Which empty points capture stones if played at, (B, N)."""
        return self.at_points(self.inner(at.stones == EMPTY) & self.beside(in_atari(at)))

    # --- the end ---

    def over(self, at: Positions) -> Array:
        """Whether both sides passed, (B,)."""
        over_B: Array = at.passes >= 2
        return over_B

    def area(self, at: Positions) -> Array:
        """Black's points less white's, (B,)."""
        return area(self, at.stones)
