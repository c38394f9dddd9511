"""Neighboring atoms in a periodic cell, and the edges that meet at an atom."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Graph(NamedTuple):
    """Edges from a source j to a target i, and pairs of edges k to j to i."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    image: NDArray[np.int64]
    """Cells by which the source is shifted, (E, 3)."""
    inward: NDArray[np.int64]
    """The edge k to j of each pair, (T,)."""
    outward: NDArray[np.int64]
    """The edge j to i, (T,)."""


def graph_of(
    positions_A3: NDArray[np.float64], cell_33: NDArray[np.float64], cutoff: float, most: int
) -> Graph:
    """The edges up to `cutoff`, at most the `most` shortest per atom, and their pairs.

    Each row of a cell is a vector. An atom and its periodic image may be neighbors.
    """
    images_M3 = _images(positions_A3, cell_33, cutoff)
    # [i, j, m]: from atom i to the m-th image of atom j
    between = positions_A3[None, :] - positions_A3[:, None]
    apart = between[:, :, None] + images_M3 @ cell_33
    distance = np.linalg.norm(apart, axis=-1)
    near = (distance < cutoff) & (distance > SAME_PLACE)
    target, source, which = np.nonzero(near)
    length = distance[near]
    order = np.lexsort((length, target))
    target, source, which = target[order], source[order], which[order]
    first = np.searchsorted(target, np.arange(len(positions_A3)))
    kept = np.arange(len(target)) - first[target] < most
    source, target, image = source[kept], target[kept], images_M3[which[kept]]
    return Graph(source, target, image, *_pairs(source, target, image, len(positions_A3)))


SAME_PLACE = 1e-6
"""Å: minimum distance, which excludes an atom itself."""


def _images(
    positions_A3: NDArray[np.float64], cell_33: NDArray[np.float64], cutoff: float
) -> NDArray[np.int64]:
    """All shifts of the cell that may bring an atom within the cutoff of another, (M, 3)."""
    inverse = np.linalg.inv(cell_33)
    spread = np.ptp(positions_A3 @ inverse, axis=0)  # more than 1 if atoms are outside
    reach = np.ceil(cutoff * np.linalg.norm(inverse, axis=0) + spread).astype(int)
    return np.array(list(itertools.product(*(range(-n, n + 1) for n in reach))), np.int64)


def _pairs(
    source: NDArray[np.int64], target: NDArray[np.int64], image: NDArray[np.int64], atoms: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every edge k to j before every edge j to i, except those from i itself."""
    count = np.bincount(target, minlength=atoms)
    # Edges are sorted by target
    first = np.cumsum(count) - count
    repeats = count[source]
    outward = np.repeat(np.arange(len(source)), repeats)
    within = np.arange(len(outward)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    inward = first[source][outward] + within
    elsewhere = (source[inward] != target[outward]) | (image[inward] + image[outward]).any(1)
    return inward[elsewhere], outward[elsewhere]
