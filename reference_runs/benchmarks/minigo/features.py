"""What the network sees of a position: MiniGo's 13 planes since round 0.7."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from podium.reference_runs.benchmarks.minigo.layout import BLACK
from podium.reference_runs.benchmarks.minigo.positions import HISTORY

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.minigo.board import Goban
    from podium.reference_runs.benchmarks.minigo.layout import Array
    from podium.reference_runs.benchmarks.minigo.positions import Positions

PLANES = 2 * HISTORY + 1 + 3 + 1


def planes(goban: Goban, at: Positions) -> Array:
    """Planes of zeros and ones, (B, PLANES, size, size), as bytes.

    Own and other stones of the last four boards, whether black is to play, groups with one, two,
    or more liberties, and points where a move would capture.
    """
    boards = at.boards[:, :, goban.place_of]
    turn = at.to_play[:, None, None]
    seen = np.zeros((len(at), PLANES, goban.points), dtype=np.uint8)
    seen[:, 0 : 2 * HISTORY : 2] = boards == turn
    seen[:, 1 : 2 * HISTORY : 2] = boards == -turn
    seen[:, 2 * HISTORY] = at.to_play[:, None] == BLACK
    liberties = at.liberties[:, goban.place_of]
    seen[:, 2 * HISTORY + 1] = liberties == 1
    seen[:, 2 * HISTORY + 2] = liberties == 2
    seen[:, 2 * HISTORY + 3] = liberties > 2
    seen[:, 2 * HISTORY + 4] = goban.captures(at)
    return seen.reshape(len(at), PLANES, goban.size, goban.size)
