"""The rules of Go on a board of any size, for many games at once.

Captures, no suicide, positional superko (no earlier board may come back), and area scoring as in
the Tromp-Taylor rules. All arrays hold one row for each of B boards; points lie in a padded row of
P places, so that a point's four neighbours are at fixed distances from it. Colours are 1 for
black, -1 for white; a move is a point from 0, row by row, and `size * size` is a pass.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

BLACK, WHITE, WALL = 1, -1, 2
HISTORY = 4
"""Boards that a position remembers for the network, its own included."""

HASH_BITS = 43
"""Of a stone's number: a board's is their sum, which a double then holds exactly."""


@dataclass(frozen=True)
class Positions:
    """B positions; the members are arrays with B rows.

    A group's label is the place of one of its stones; empty places have label 0, which is wall.
    """

    boards: Array
    """Stones of the last boards, the newest first, (B, HISTORY, P)."""
    labels: Array
    """Which group the stone at a place belongs to, (B, P)."""
    liberties: Array
    """How many liberties the group at a place has, (B, P)."""
    to_play: Array
    passes: Array
    """Passes in a row, as the last moves."""
    moves: Array
    """Moves made so far."""
    hashes: Array
    """A number for the board, equal for equal boards."""
    captured: Array
    """Whether a stone was ever taken; a board cannot come back before that."""

    @property
    def stones(self) -> Array:
        """The board now, (B, P)."""
        stones: Array = self.boards[:, 0]
        return stones

    def __len__(self) -> int:
        return len(self.to_play)

    def take(self, rows: Array) -> Self:
        """A copy of some rows."""
        return type(self)(*(getattr(self, f.name)[rows] for f in fields(self)))

    def put(self, rows: Array, other: Positions) -> None:
        """Overwrite some rows."""
        for f in fields(self):
            getattr(self, f.name)[rows] = getattr(other, f.name)


class Goban:
    """A board's geometry, and what may be played on it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.points = size * size
        self.moves = self.points + 1
        width = size + 1  # one column of wall serves the left and the right edge
        self.places = (size + 2) * width + 1
        self.offsets = (-width, -1, 1, width)
        rows, columns = np.divmod(np.arange(self.points), size)
        self.place_of = (rows + 1) * width + columns + 1
        self._inner = slice(width, (size + 1) * width + 1)
        rng = np.random.default_rng(0x60)
        self._numbers = np.zeros((4, self.places))
        # Only stones have numbers: empty points and walls add nothing to a board's sum
        self._numbers[[0, 2]] = rng.integers(1, 2**HASH_BITS, (2, self.places))

    def start(self, count: int) -> Positions:
        """So many empty boards, black to play."""
        boards = np.full((count, HISTORY, self.places), WALL, dtype=np.int8)
        boards[:, :, self.place_of] = 0
        zeros = np.zeros((count, self.places), dtype=np.int16)
        return Positions(
            boards=boards,
            labels=zeros,
            liberties=zeros.copy(),
            to_play=np.full(count, BLACK, dtype=np.int8),
            passes=np.zeros(count, dtype=np.int8),
            moves=np.zeros(count, dtype=np.int32),
            hashes=np.zeros(count),
            captured=np.zeros(count, dtype=bool),
        )

    def setup(self, diagram: str, to_play: int = BLACK) -> Positions:
        """One position from a diagram: X is black, O is white, anything else but blanks is free."""
        stones = [{"X": BLACK, "O": WHITE}.get(sign, 0) for sign in "".join(diagram.split())]
        at = self.start(1)
        for color in (BLACK, WHITE):
            for point in np.flatnonzero(np.array(stones) == color):
                at.to_play[:] = color
                at = self.play(at, np.array([point]))
        at = self.start(1).take(np.array([0])) if not any(stones) else at
        at.to_play[:] = to_play
        at.boards[:, 1:] = self.start(1).boards[:, 1:]
        return at

    def over(self, at: Positions) -> Array:
        """Whether both sides passed, (B,)."""
        over: Array = at.passes >= 2
        return over

    def play(self, at: Positions, moves: Array) -> Positions:
        """The positions after one legal move each, (B,)."""
        rows = np.arange(len(at))
        placed = moves < self.points
        place = self.place_of[np.where(placed, moves, 0)]
        labels, stones = at.labels.copy(), at.stones.copy()
        around = place[:, None] + np.array(self.offsets)
        near, of_group = stones[rows[:, None], around], labels[rows[:, None], around]
        color = at.to_play[:, None]
        taken = placed[:, None] & (near == -color) & (at.liberties[rows[:, None], around] == 1)
        joined = placed[:, None] & (near == color)
        # Own groups need no look: `legal` lets no move through that leaves one without liberties
        caught = _is_in(labels, np.where(taken, of_group, -1))
        stones[caught] = labels[caught] = 0
        merged = _is_in(labels, np.where(joined, of_group, -1))
        np.copyto(labels, place[:, None].astype(labels.dtype), where=merged)
        labels[rows[placed], place[placed]] = place[placed]
        stones[rows[placed], place[placed]] = at.to_play[placed]
        return Positions(
            boards=np.concatenate((stones[:, None], at.boards[:, :-1]), axis=1),
            labels=labels,
            liberties=self._count(stones, labels),
            to_play=-at.to_play,
            passes=np.where(placed, 0, at.passes + 1).astype(np.int8),
            moves=at.moves + 1,
            hashes=self._numbers[stones + 1, np.arange(self.places)].sum(axis=1),
            captured=at.captured | taken.any(axis=1),
        )

    def _count(self, stones: Array, labels: Array) -> Array:
        """Liberties of the group at each place: each empty point counts once for each group."""
        count, inner = len(stones), self._inner
        empty = stones[:, inner] == 0
        base = (np.arange(count) * self.places)[:, None]
        found = [base + label for label in self._distinct(labels, empty)]
        sums = np.bincount(np.concatenate(found, axis=None), minlength=count * self.places)
        # Label 0 is what has no group: empty points and walls
        sums[base[:, 0]] = 0
        liberties: Array = sums[base + labels].astype(np.int16)
        return liberties

    def _distinct(self, labels: Array, where: Array) -> list[Array]:
        """Labels of the four neighbours of each inner place; 0 for one that came before."""
        seen: list[Array] = []
        for offset in self.offsets:
            label = np.where(where, labels[:, self._shifted(offset)], 0)
            for earlier in seen:
                label[label == earlier] = 0
            seen.append(label)
        return seen

    def _shifted(self, offset: int) -> slice:
        return slice(self._inner.start + offset, self._inner.stop + offset)

    def legal(self, at: Positions, history: Array | None = None) -> Array:
        """Which moves may be played, (B, moves); a pass always may.

        `history` has the hashes of each game's earlier boards, (B, T), NaN where there are fewer;
        without it superko is not looked at.
        """
        stones, color = at.stones, at.to_play[:, None]
        lives = np.zeros((len(at), self._inner.stop - self._inner.start), dtype=bool)
        for offset in self.offsets:
            near, count = stones[:, self._shifted(offset)], at.liberties[:, self._shifted(offset)]
            lives |= (
                (near == 0) | ((near == color) & (count > 1)) | ((near == -color) & (count == 1))
            )
        lives &= stones[:, self._inner] == 0
        legal = np.ones((len(at), self.moves), dtype=bool)
        legal[:, :-1] = lives[:, self.place_of - self._inner.start]
        if history is not None and at.captured.any():
            rows = np.flatnonzero(at.captured)
            legal[rows, :-1] &= ~self._repeats(at.take(rows), history[rows])
        return legal

    def _repeats(self, at: Positions, history: Array) -> Array:
        """Which points, if played at, bring back a board of the game, (B, points)."""
        after = self.hashes_after(at)
        again = np.zeros(after.shape, dtype=bool)
        for earlier in history.T:
            again |= after == earlier[:, None]
        return again

    def hashes_after(self, at: Positions) -> Array:
        """The board's number after playing at each point, (B, points)."""
        stones, base = at.stones, (np.arange(len(at)) * self.places)[:, None]
        numbers = self._numbers[stones + 1, np.arange(self.places)]
        of_group = np.bincount(
            (base + at.labels).ravel(), weights=numbers.ravel(), minlength=base.size * self.places
        )
        of_group[base[:, 0]] = 0
        in_atari = np.where((stones == -at.to_play[:, None]) & (at.liberties == 1), at.labels, 0)
        everywhere = np.ones((len(at), self._inner.stop - self._inner.start), dtype=bool)
        lost = sum(of_group[base + label] for label in self._distinct(in_atari, everywhere))
        added = self._numbers[at.to_play + 1][:, self._inner]
        after: Array = at.hashes[:, None] + added - lost
        return after[:, self.place_of - self._inner.start]

    def captures(self, at: Positions) -> Array:
        """Which empty points take stones if played at, (B, points)."""
        takes = np.zeros((len(at), self.points), dtype=bool)
        for offset in self.offsets:
            near = self.place_of + offset
            takes |= (at.stones[:, near] == -at.to_play[:, None]) & (at.liberties[:, near] == 1)
        takes &= at.stones[:, self.place_of] == 0
        return takes

    def eyes(self, at: Positions) -> Array:
        """Which empty points have only stones of the side to play around them, (B, points)."""
        eyes: Array = at.stones[:, self.place_of] == 0
        for offset in self.offsets:
            near = at.stones[:, self.place_of + offset]
            eyes &= (near == at.to_play[:, None]) | (near == WALL)
        return eyes

    def area(self, at: Positions) -> Array:
        """Black's points less white's, (B,): stones, and empty points that reach one colour."""
        black, white = (self._reach(at.stones, color) for color in (BLACK, WHITE))
        area: Array = (black & ~white).sum(axis=1) - (white & ~black).sum(axis=1)
        return area

    def _reach(self, stones: Array, color: int) -> Array:
        """Stones of a colour, and the empty points from which one can be reached, (B, P)."""
        reached: Array = stones == color
        empty = stones == 0
        while True:
            before = np.count_nonzero(reached)
            spread = reached[:, self._inner].copy()
            for offset in self.offsets:
                spread |= reached[:, self._shifted(offset)] & empty[:, self._inner]
            reached[:, self._inner] = spread
            if np.count_nonzero(reached) == before:
                return reached


def _is_in(labels: Array, wanted: Array) -> Array:
    """Where a label is one of its row's wanted ones, (B, P)."""
    found: Array = labels == wanted[:, :1]
    for column in range(1, wanted.shape[1]):
        found |= labels == wanted[:, column, None]
    return found
