"""The grid of a board: padded rows of cells, groups of stones, and area scoring.

A board of size 3, its points numbered row by row, and `#` for wall:

    points              cells
    #  #  #  #           0  1  2  3
    #  0  1  2           4  5  6  7
    #  3  4  5           8  9 10 11
    #  6  7  8          12 13 14 15
    #  #  #  #          16 17 18 19
    #                   20

These lines follow one another in one row of 21 cells. The wall at the start of a line also ends the
previous line. The neighbors of cell p are p - 4, p - 1, p + 1 and p + 4, and a point always has
four of them: the edge of the board needs no special case.

A group's label is the cell of one of its stones. Empty cells and walls have label 0, which is never
a group's, as cell 0 is wall.

Dimensions: B boards, P cells, I inner cells (those from the first point to the last, 5 to 15 above,
with the walls between), N points, G requested labels per board.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Array = NDArray[Any]

EMPTY, BLACK, WHITE, WALL = 0, 1, -1, 2
"""The content of a cell; the other side's color is the negative one."""


NO_GROUP = 0


class Grid:
    """The cells of a board with `size` lines in each direction."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.points = size * size
        width = size + 1
        self.places = (size + 2) * width + 1
        self.shifts = (-width, -1, 1, width)
        """Offsets from a cell to its neighbors: above, left, right, below."""
        rows, columns = np.divmod(np.arange(self.points), size)
        self.place_of = (rows + 1) * width + columns + 1
        """The cell of each point, (N,)."""
        self._first, self._end = int(self.place_of[0]), int(self.place_of[-1]) + 1

    def inner(self, x_BP: Array) -> Array:
        """The inner cells, a view (B, I)."""
        return x_BP[:, self._first : self._end]

    def neighbors(self, x_BP: Array) -> list[Array]:
        """The values above, left, right and below of each inner cell, four views (B, I)."""
        return [x_BP[:, self._first + shift : self._end + shift] for shift in self.shifts]

    def beside(self, where_BP: Array) -> Array:
        """Inner cells with a neighbor in `where_BP`, (B, I)."""
        above, left, right, below = self.neighbors(where_BP)
        beside_BI: Array = above | left | right | below
        return beside_BI

    def at_points(self, x_BI: Array) -> Array:
        """The values of points among those of inner cells, (B, N)."""
        return x_BI[:, self.place_of - self._first]


def members(labels_BP: Array, groups_BG: Array, wanted_BG: Array) -> Array:
    """Cells that belong to one of their board's requested groups, (B, P)."""
    nowhere = -1
    groups_BG = np.where(wanted_BG, groups_BG, nowhere)
    members_BP = np.zeros(labels_BP.shape, dtype=bool)
    for group_B in groups_BG.T:
        members_BP |= labels_BP == group_B[:, None]
    return members_BP


def liberties(grid: Grid, stones_BP: Array, labels_BP: Array) -> Array:
    """Number of empty cells adjacent to the group in each cell, (B, P)."""
    empty_BI = grid.inner(stones_BP) == EMPTY
    beside = grid.neighbors(labels_BP)
    beside_empty = (np.where(empty_BI, label_BI, NO_GROUP) for label_BI in beside)
    labels_BG = np.concatenate(each_group_once(beside_empty), axis=1)
    return of_group(sums(grid, labels_BG), labels_BP).astype(np.int16)


def each_group_once(neighbors: Iterable[Array]) -> list[Array]:
    """Labels of each cell's neighbors, with NO_GROUP for a repeated group.

    A cell may be adjacent to the same group on up to four sides.
    """
    once: list[Array] = []
    for label_BI in neighbors:
        new_BI = label_BI.copy()
        for earlier_BI in once:
            new_BI[new_BI == earlier_BI] = NO_GROUP
        once.append(new_BI)
    return once


def sums(grid: Grid, labels_BG: Array, numbers_BG: Array | None = None) -> Array:
    """The sum of the numbers of each label, or without numbers the count of each label.

    A table (B, P) with a column for each label; that of NO_GROUP is zero.
    """
    boards = len(labels_BG)
    cells = np.arange(boards)[:, None] * grid.places + labels_BG
    weights = None if numbers_BG is None else numbers_BG.ravel()
    table = np.bincount(cells.ravel(), weights, minlength=boards * grid.places)
    table_BP: Array = table.reshape(boards, grid.places)
    table_BP[:, NO_GROUP] = 0
    return table_BP


def of_group(table_BP: Array, labels_BG: Array) -> Array:
    """Values of a `sums` table for each label, (B, G)."""
    numbers_BG: Array = table_BP[np.arange(len(labels_BG))[:, None], labels_BG]
    return numbers_BG


def area(grid: Grid, stones_BP: Array) -> Array:
    """Black's points less white's, (B,)."""
    black_BP, white_BP = (_reached(grid, stones_BP, color) for color in (BLACK, WHITE))
    area_B: Array = (black_BP & ~white_BP).sum(axis=1) - (white_BP & ~black_BP).sum(axis=1)
    return area_B


def _reached(grid: Grid, stones_BP: Array, color: int) -> Array:
    """Stones of a color, and the empty cells that are connected to them, (B, P)."""
    reached_BP: Array = stones_BP == color
    reached_BI = grid.inner(reached_BP)  # a view: additions change both
    empty_BI = grid.inner(stones_BP) == EMPTY
    while True:
        further_BI = grid.beside(reached_BP) & empty_BI & ~reached_BI
        if not further_BI.any():
            return reached_BP
        reached_BI |= further_BI
