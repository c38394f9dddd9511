"""Where the points of a board lie in a padded row of places, so that neighbours are shifts.

A board of size 3, its points numbered row by row, and `#` for wall:

    points              places
    #  #  #  #           0  1  2  3
    #  0  1  2           4  5  6  7
    #  3  4  5           8  9 10 11
    #  6  7  8          12 13 14 15
    #  #  #  #          16 17 18 19
    #                   20

These lines follow one another in one row of 21 places. The wall at the start of a line also ends
the line before it. The neighbours of place p are p - 4, p - 1, p + 1 and p + 4, and a point always
has four of them: the edge of the board needs no case of its own.

Shape letters here and in the modules that build on this: B boards, P places, I inner places (those
from the first point to the last, 5 to 15 above, with the walls between), N points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

EMPTY, BLACK, WHITE, WALL = 0, 1, -1, 2
"""What may be at a place; the other side's colour is the negative one."""


class Layout:
    """The places of a board with `size` lines each way."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.points = size * size
        width = size + 1
        self.places = (size + 2) * width + 1
        self.shifts = (-width, -1, 1, width)
        """From a place to its neighbours: above, left, right, below."""
        rows, columns = np.divmod(np.arange(self.points), size)
        self.place_of = (rows + 1) * width + columns + 1
        """Of each point, (N,)."""
        self._first, self._end = int(self.place_of[0]), int(self.place_of[-1]) + 1

    def inner(self, x_BP: Array) -> Array:
        """The inner places, a view (B, I)."""
        return x_BP[:, self._first : self._end]

    def neighbours(self, x_BP: Array) -> list[Array]:
        """What each inner place has above, left, right and below, four views (B, I)."""
        return [x_BP[:, self._first + shift : self._end + shift] for shift in self.shifts]

    def beside(self, where_BP: Array) -> Array:
        """Which inner places have a neighbour where this holds, (B, I)."""
        above, left, right, below = self.neighbours(where_BP)
        beside_BI: Array = above | left | right | below
        return beside_BI

    def at_points(self, x_BI: Array) -> Array:
        """Of what inner places have, what points have, (B, N)."""
        return x_BI[:, self.place_of - self._first]
