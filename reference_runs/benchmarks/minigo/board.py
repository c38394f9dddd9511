"""The rules of the board game Go, for any board size and many games at once.

Captures, no suicide, positional superko and area scoring. A move is a point from 0, row by row, and
`size * size` is a pass. Positional superko: no earlier board of a game may recur. Boards are
compared by a hash, a sum of random numbers, one for each cell and color of a stone (Zobrist
hashing, with addition instead of exclusive or). So a move changes the hash by the added and removed
stones, and the board after each move can be hashed without playing it.

Dimensions as in `grid.py`, with A moves and T earlier boards.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np

from podium.reference_runs.benchmarks.minigo.grid import (
    BLACK,
    EMPTY,
    NO_GROUP,
    WALL,
    WHITE,
    Grid,
    area,
    each_group_once,
    liberties,
    members,
    of_group,
    sums,
)

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.minigo.grid import Array

HISTORY = 4
"""Number of recent boards that a position stores for the network, including the present one."""


@dataclass(frozen=True)
class Positions:
    """B positions: the boards, the derived data of groups, and whose turn it is."""

    boards: Array
    """EMPTY, BLACK, WHITE or WALL of the last boards, the newest first, (B, HISTORY, P)."""
    labels: Array
    """The group of the stone in a cell, (B, P), as labeled by `grid.py`."""
    liberties: Array
    """Number of liberties of the group in a cell, (B, P); 0 without a stone."""
    to_play: Array
    """The color to play, (B,)."""
    passes: Array
    """Number of consecutive passes at the end, (B,)."""
    moves: Array
    """Moves made so far, (B,)."""
    hashes: Array
    """A hash of the board, equal for equal boards, (B,)."""
    captured: Array
    """Whether a stone was ever captured, (B,); a board cannot recur before that."""

    @classmethod
    def start(cls, grid: Grid, count: int) -> Self:
        """`count` empty boards, black to play."""
        boards_BHP = np.full((count, HISTORY, grid.places), WALL, dtype=np.int8)
        boards_BHP[:, :, grid.place_of] = EMPTY
        return cls(
            boards=boards_BHP,
            labels=np.zeros((count, grid.places), dtype=np.int16),
            liberties=np.zeros((count, grid.places), dtype=np.int16),
            to_play=np.full(count, BLACK, dtype=np.int8),
            passes=np.zeros(count, dtype=np.int8),
            moves=np.zeros(count, dtype=np.int32),
            hashes=np.zeros(count),
            captured=np.zeros(count, dtype=bool),
        )

    @property
    def stones(self) -> Array:
        """The present board, (B, P)."""
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


def in_atari(positions: Positions) -> Array:
    """Stones of the side not to play whose group has one liberty left, (B, P)."""
    atari_BP: Array = (positions.stones == -positions.to_play[:, None]) & (positions.liberties == 1)
    return atari_BP


HASH_BITS = 43
"""Range of a stone's number: a double can represent the sum of a whole board exactly."""


class Hashes:
    """The hashes of the boards of one grid; boards with equal hashes are treated as equal."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        rng = np.random.default_rng(0x60)
        numbers = rng.integers(1, 2**HASH_BITS, (2, grid.places))
        self._white_P, self._black_P = numbers.astype(np.float64)

    def of(self, stones_BP: Array) -> Array:
        """The hash of each board, (B,)."""
        hashes_B: Array = self._numbers(stones_BP).sum(axis=1)
        return hashes_B

    def _numbers(self, stones_BP: Array) -> Array:
        """The number of each stone in its cell, 0 for no stone, (B, P)."""
        white_BP = np.where(stones_BP == WHITE, self._white_P, 0)
        return np.where(stones_BP == BLACK, self._black_P, white_BP)

    def repeats(self, positions: Positions, history_BT: Array) -> Array:
        """Points at which a move would recreate one of T earlier boards of the game, (B, N)."""
        after_BN = self._after_each_move(positions)
        repeats_BN = np.zeros(after_BN.shape, dtype=bool)
        for earlier_B in history_BT.T:
            repeats_BN |= after_BN == earlier_B[:, None]
        return repeats_BN

    def _after_each_move(self, positions: Positions) -> Array:
        """The board's hash after a stone at each point and its captures, (B, N)."""
        grid = self._grid
        capturable_BP = np.where(in_atari(positions), positions.labels, NO_GROUP)
        captured = each_group_once(grid.neighbors(capturable_BP))
        group_sums_BP = sums(grid, positions.labels, self._numbers(positions.stones))
        lost_BI = sum(of_group(group_sums_BP, label_BI) for label_BI in captured)
        black_plays_B1 = positions.to_play[:, None] == BLACK
        added_BP = np.where(black_plays_B1, self._black_P, self._white_P)
        return grid.at_points(positions.hashes[:, None] + grid.inner(added_BP) - lost_BI)


class Goban(Grid):
    """A board with `size` lines in each direction, and its rules."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.moves = self.points + 1
        self._hashes = Hashes(self)

    def start(self, count: int) -> Positions:
        """`count` empty boards, black to play."""
        return Positions.start(self, count)

    def setup(self, diagram: str, to_play: int = BLACK) -> Positions:
        """One position from a diagram: X is black, O is white, others are empty."""
        signs = "".join(diagram.split())
        position = self.start(1)
        for color, own_sign in ((BLACK, "X"), (WHITE, "O")):
            for point in (point for point, sign in enumerate(signs) if sign == own_sign):
                position.to_play[:] = color
                position = self.play(position, np.array([point]))
        position.to_play[:] = to_play
        position.boards[:, 1:] = self.start(1).boards[:, 1:]  # there is no earlier board
        return position

    # --- playing a move ---

    def play(self, positions: Positions, moves_B: Array) -> Positions:
        """The positions after one legal move each."""
        placed_B = moves_B < self.points  # the others pass
        stones_BP, labels_BP, captures_B = self._place(positions, moves_B, placed_B)
        return Positions(
            boards=np.concatenate((stones_BP[:, None], positions.boards[:, :-1]), axis=1),
            labels=labels_BP,
            liberties=liberties(self, stones_BP, labels_BP),
            to_play=-positions.to_play,
            passes=np.where(placed_B, 0, positions.passes + 1).astype(np.int8),
            moves=positions.moves + 1,
            hashes=self._hashes.of(stones_BP),
            captured=positions.captured | captures_B,
        )

    def _place(
        self, positions: Positions, moves_B: Array, placed_B: Array
    ) -> tuple[Array, Array, Array]:
        """Stones and labels, (B, P), after the moves that place a stone, and which moves capture.

        The liberties of own groups need no check: `legal` forbids moves that leave none.
        """
        rows_B1 = np.arange(len(positions))[:, None]
        place_B = self.place_of[np.where(placed_B, moves_B, 0)]  # arbitrary for a pass
        around = rows_B1, place_B[:, None] + np.array(self.shifts)
        group_B4 = positions.labels[around]
        captures_B4 = placed_B[:, None] & in_atari(positions)[around]
        joins_B4 = placed_B[:, None] & (positions.stones[around] == positions.to_play[:, None])

        stones_BP, labels_BP = positions.stones.copy(), positions.labels.copy()
        captured_BP = members(labels_BP, group_B4, captures_B4)
        stones_BP[captured_BP], labels_BP[captured_BP] = EMPTY, NO_GROUP
        # The cell of the new stone becomes the label of its group, and of the groups that it joins
        np.copyto(labels_BP, place_B[:, None], where=members(labels_BP, group_B4, joins_B4))
        new = rows_B1[placed_B, 0], place_B[placed_B]
        stones_BP[new], labels_BP[new] = positions.to_play[placed_B], place_B[placed_B]
        return stones_BP, labels_BP, captures_B4.any(axis=1)

    # --- legal moves ---

    def legal(self, positions: Positions, history_BT: Array | None = None) -> Array:
        """Legal moves, (B, A); a pass is always legal.

        `history_BT` has the hashes of each game's earlier boards, NaN for missing ones; without it
        superko is not checked.
        """
        empty_BP = positions.stones == EMPTY
        own_BP = positions.stones == positions.to_play[:, None]
        # A stone has a liberty if it is adjacent to an empty cell, to an own group with another
        # liberty than the stone's cell, or to a group that the stone captures
        breath_BP = empty_BP | (own_BP & (positions.liberties > 1)) | in_atari(positions)
        legal_BA = np.ones((len(positions), self.moves), dtype=bool)
        legal_BA[:, :-1] = self.at_points(self.inner(empty_BP) & self.beside(breath_BP))
        if history_BT is not None and positions.captured.any():
            rows = np.flatnonzero(positions.captured)
            legal_BA[rows, :-1] &= ~self._hashes.repeats(positions.take(rows), history_BT[rows])
        return legal_BA

    def captures(self, positions: Positions) -> Array:
        """Empty points at which a move captures stones, (B, N)."""
        return self.at_points(
            self.inner(positions.stones == EMPTY) & self.beside(in_atari(positions))
        )

    # --- the end ---

    def over(self, positions: Positions) -> Array:
        """Whether both sides passed, (B,)."""
        over_B: Array = positions.passes >= 2
        return over_B

    def area(self, positions: Positions) -> Array:
        """Black's points less white's, (B,)."""
        return area(self, positions.stones)
