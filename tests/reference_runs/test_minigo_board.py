"""Go rules: known positions, and random games compared with a plain implementation."""

from __future__ import annotations

from itertools import chain, product

import numpy as np
import pytest

pytest.importorskip("torch")

from podium.reference_runs.benchmarks.minigo.board import Goban, Positions
from podium.reference_runs.benchmarks.minigo.grid import BLACK, WHITE

Board = tuple[tuple[int, ...], ...]


def point(row: int, column: int, size: int = 5) -> int:
    return row * size + column


def may(goban: Goban, at: Positions, move: int, *earlier: Positions) -> bool:
    """Return whether a move is legal after the given earlier boards."""
    history = np.array([[each.hashes[0] for each in (*earlier, at)]])
    return bool(goban.legal(at, history)[0, move])


def played(goban: Goban, at: Positions, move: int) -> Positions:
    return goban.play(at, np.array([move]))


def shown(goban: Goban, at: Positions) -> str:
    signs = {BLACK: "X", WHITE: "O", 0: "."}
    text = "".join(signs[int(stone)] for stone in at.stones[0, goban.place_of])
    return " ".join(text[i : i + goban.size] for i in range(0, goban.points, goban.size))


def test_a_group_without_liberties_is_captured() -> None:
    goban = Goban(5)
    at = goban.setup("OOX.. X.... ..... ..... .....", BLACK)
    after = played(goban, at, point(1, 1))
    assert shown(goban, after) == "..X.. XX... ..... ..... ....."
    assert after.captured[0]


def test_one_move_captures_two_groups() -> None:
    goban = Goban(5)
    at = goban.setup("XO.OX .X.X. ..... ..... .....", BLACK)
    after = played(goban, at, point(0, 2))
    assert shown(goban, after) == "X.X.X .X.X. ..... ..... ....."


def test_suicide_of_one_or_several_stones_is_illegal() -> None:
    goban = Goban(5)
    one = goban.setup(".X... X.... ..... ..... .....", WHITE)
    assert not may(goban, one, point(0, 0))
    many = goban.setup("O.X.. OXX.. X.... ..... .....", WHITE)
    assert not may(goban, many, point(0, 1))
    assert may(goban, many, point(4, 4))


def test_a_move_that_captures_is_not_suicide() -> None:
    goban = Goban(5)
    at = goban.setup(".XO.. XO... O.... ..... .....", WHITE)
    assert may(goban, at, point(0, 0))
    assert shown(goban, played(goban, at, point(0, 0))) == "O.O.. .O... O.... ..... ....."


KO = ".XO.. X.XO. .XO.. ..... ....."


def test_a_ko_can_be_recaptured_only_after_another_move() -> None:
    goban = Goban(5)
    start = goban.setup(KO, WHITE)
    taken = played(goban, start, point(1, 1))
    assert shown(goban, taken) == ".XO.. XO.O. .XO.. ..... ....."
    assert not may(goban, taken, point(1, 2), start)
    elsewhere = played(goban, played(goban, taken, point(4, 0)), point(4, 4))
    assert may(goban, elsewhere, point(1, 2), start, taken)


def test_a_move_must_not_repeat_any_earlier_board() -> None:
    """Play random moves, and check that every move that only superko forbids repeats a board."""
    goban = Goban(4)
    start = goban.setup(".OX. O.X. OX.. XX..", WHITE)
    boards = [start]
    rng, seen = np.random.default_rng(5), 0
    for _ in range(400):
        history = np.array([[each.hashes[0] for each in boards]])
        free, bound = goban.legal(boards[-1])[0], goban.legal(boards[-1], history)[0]
        for move in np.flatnonzero(free & ~bound):
            after = played(goban, boards[-1], int(move))
            back = [n for n, each in enumerate(boards) if shown(goban, each) == shown(goban, after)]
            assert back
            seen += len(boards) - back[-1] > 2  # further back than a simple ko
        moves = np.flatnonzero(bound[:-1])
        move = int(rng.choice(moves)) if len(moves) else goban.points
        boards.append(played(goban, boards[-1], move))
    assert seen > 0


def test_only_two_consecutive_passes_end_a_game() -> None:
    goban = Goban(5)
    at = played(goban, goban.start(1), goban.points)
    assert not goban.over(at)[0]
    assert not goban.over(played(goban, played(goban, at, 0), goban.points))[0]
    assert goban.over(played(goban, at, goban.points))[0]


@pytest.mark.parametrize(
    ("diagram", "area"),
    [
        ("..... ..... ..... ..... .....", 0),
        ("..... ..... ..X.. ..... .....", 25),
        (".XO.. .XO.. .XO.. .XO.. .XO..", -5),
        (".X.O. .X.O. .X.O. .X.O. .X.O.", 0),
        ("X.X.O .XX.O XX..O ....O .O.OO", 1),
    ],
)
def test_area_is_stones_and_empty_points_that_reach_only_one_color(diagram: str, area: int) -> None:
    goban = Goban(5)
    assert goban.area(goban.setup(diagram))[0] == area


# --- a plain implementation for comparison ---


def group_of(board: Board, row: int, column: int) -> tuple[set[tuple[int, int]], bool]:
    """Return the stones connected to a stone, and whether they have a liberty."""
    size, group, free = len(board), {(row, column)}, False
    todo = [(row, column)]
    while todo:
        y, x = todo.pop()
        for v, u in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
            if not (0 <= v < size and 0 <= u < size):
                continue
            free |= board[v][u] == 0
            if board[v][u] == board[row][column] and (v, u) not in group:
                group.add((v, u))
                todo.append((v, u))
    return group, free


def plain_play(board: Board, move: int, color: int) -> Board | None:
    """Return the board after a move, or None if the move is illegal."""
    row, column = divmod(move, len(board))
    if board[row][column]:
        return None
    stones = [list(line) for line in board]
    stones[row][column] = color
    placed = tuple(map(tuple, stones))
    for v, u in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
        if 0 <= v < len(board) and 0 <= u < len(board) and placed[v][u] == -color:
            group, free = group_of(placed, v, u)
            for y, x in () if free else group:
                stones[y][x] = 0
    after = tuple(map(tuple, stones))
    return after if group_of(after, row, column)[1] else None


def plain_area(board: Board) -> int:
    """Return Black's points minus White's points, computed region by region."""
    size, area = len(board), 0
    for row, column in product(range(size), range(size)):
        region, _ = group_of(board, row, column)
        beside = {
            board[v][u]
            for y, x in region
            for v, u in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1))
            if 0 <= v < size and 0 <= u < size
        }
        reached = {board[row][column]} if board[row][column] else beside - {0}
        area += sum(reached) if len(reached) == 1 else 0
    return area


def count(board: Board) -> int:
    return sum(map(abs, chain(*board)))


@pytest.mark.parametrize(("size", "seed"), [(3, 1), (4, 2), (5, 3), (5, 4), (9, 5)])
def test_random_games_agree_with_a_plain_implementation(size: int, seed: int) -> None:
    goban, rng = Goban(size), np.random.default_rng(seed)
    at, board, color = goban.start(1), ((0,) * size,) * size, BLACK
    history, seen = [at.hashes[0]], {board}
    for _ in range(60):
        after = [plain_play(board, move, color) for move in range(goban.points)]
        legal = [each is not None and each not in seen for each in after]
        assert goban.legal(at, np.array([history]))[0].tolist() == [*legal, True]
        takes = [each is not None and count(each) <= count(board) for each in after]
        assert goban.captures(at)[0].tolist() == takes
        assert goban.area(at)[0] == plain_area(board)
        move = int(rng.choice(np.flatnonzero(legal))) if any(legal) else goban.points
        board, color = after[move] or board if move < goban.points else board, -color
        at = played(goban, at, move)
        assert at.stones[0, goban.place_of].tolist() == [s for line in board for s in line]
        history.append(at.hashes[0])
        seen.add(board)


def test_a_batch_of_boards_is_played_like_single_boards() -> None:
    goban, rng = Goban(5), np.random.default_rng(6)
    together, alone = goban.start(6), [goban.start(1) for _ in range(6)]
    for _ in range(40):
        wish = rng.random((6, goban.moves)) * goban.legal(together)
        moves = wish.argmax(axis=1)
        together = goban.play(together, moves)
        alone = [played(goban, at, int(move)) for at, move in zip(alone, moves, strict=True)]
    assert all(
        np.array_equal(together.stones[n], at.stones[0])
        and np.array_equal(together.liberties[n], at.liberties[0])
        and together.hashes[n] == at.hashes[0]
        for n, at in enumerate(alone)
    )
