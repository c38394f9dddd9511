"""Area scoring as in the Tromp-Taylor rules: stones, and empty points that reach one colour only.

Shape letters as in `layout.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.reference_runs.benchmarks.minigo.layout import BLACK, EMPTY, WHITE

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.minigo.layout import Array, Layout


def area(layout: Layout, stones_BP: Array) -> Array:
    """Black's points less white's, (B,)."""
    black_BP, white_BP = (_reached(layout, stones_BP, color) for color in (BLACK, WHITE))
    area_B: Array = (black_BP & ~white_BP).sum(axis=1) - (white_BP & ~black_BP).sum(axis=1)
    return area_B


def _reached(layout: Layout, stones_BP: Array, color: int) -> Array:
    """Stones of a colour, and the places that a path over empty ones joins to them, (B, P)."""
    reached_BP: Array = stones_BP == color
    reached_BI = layout.inner(reached_BP)  # a view: what is added to it is in both
    empty_BI = layout.inner(stones_BP) == EMPTY
    while True:
        further_BI = layout.beside(reached_BP) & empty_BI & ~reached_BI
        if not further_BI.any():
            return reached_BP
        reached_BI |= further_BI
