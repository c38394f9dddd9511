"""Groups of stones: which stones belong together, their liberties, and sums over a group.

A group's label is the place of one of its stones. Empty places and walls have label 0, which is
never a group's, as place 0 is wall. Shape letters as in `layout.py`, and G for the labels that are
asked about, so many of each board.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from podium.reference_runs.benchmarks.minigo.layout import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from podium.reference_runs.benchmarks.minigo.layout import Array, Layout
    from podium.reference_runs.benchmarks.minigo.positions import Positions

NO_GROUP = 0


def members(labels_BP: Array, groups_BG: Array, wanted_BG: Array) -> Array:
    """Which places belong to one of their board's wanted groups, (B, P)."""
    nowhere = -1
    groups_BG = np.where(wanted_BG, groups_BG, nowhere)
    members_BP = np.zeros(labels_BP.shape, dtype=bool)
    for group_B in groups_BG.T:
        members_BP |= labels_BP == group_B[:, None]
    return members_BP


def in_atari(at: Positions) -> Array:
    """Which stones of the side not to play are in a group with one liberty left, (B, P)."""
    atari_BP: Array = (at.stones == -at.to_play[:, None]) & (at.liberties == 1)
    return atari_BP


def liberties(layout: Layout, stones_BP: Array, labels_BP: Array) -> Array:
    """How many empty places the group at each place borders on, (B, P)."""
    empty_BI = layout.inner(stones_BP) == EMPTY
    beside = layout.neighbours(labels_BP)
    beside_empty = (np.where(empty_BI, label_BI, NO_GROUP) for label_BI in beside)
    labels_BG = np.concatenate(each_group_once(beside_empty), axis=1)
    return of_group(sums(layout, labels_BG), labels_BP).astype(np.int16)


def each_group_once(neighbours: Iterable[Array]) -> list[Array]:
    """Labels of each place's neighbours, with NO_GROUP for a group that came before.

    A place may border on one group on up to four sides.
    """
    once: list[Array] = []
    for label_BI in neighbours:
        new_BI = label_BI.copy()
        for earlier_BI in once:
            new_BI[new_BI == earlier_BI] = NO_GROUP
        once.append(new_BI)
    return once


def sums(layout: Layout, labels_BG: Array, numbers_BG: Array | None = None) -> Array:
    """What the numbers of each label add up to, or without numbers how often each label comes.

    A table (B, P) whose columns are the labels; that of NO_GROUP holds zeros.
    """
    boards = len(labels_BG)
    cells = np.arange(boards)[:, None] * layout.places + labels_BG
    weights = None if numbers_BG is None else numbers_BG.ravel()
    table = np.bincount(cells.ravel(), weights, minlength=boards * layout.places)
    table_BP: Array = table.reshape(boards, layout.places)
    table_BP[:, NO_GROUP] = 0
    return table_BP


def of_group(table_BP: Array, labels_BG: Array) -> Array:
    """What a table of `sums` holds for each label, (B, G)."""
    numbers_BG: Array = table_BP[np.arange(len(labels_BG))[:, None], labels_BG]
    return numbers_BG
