"""Hashes of tuples of numbers, which index the benchmark's tables of crosses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PRIMES = tuple(
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
"""XXH64's constants."""


def crossed(columns: Sequence[NDArray[np.int64]]) -> NDArray[np.uint64]:
    """XXH64 of two or three numbers each, (N,) for columns of (N,), with seed 0.

    The numbers are hashed as consecutive 64-bit integers. Source: the XXH64 specification (Collet);
    such short inputs need only its last two steps.
    """
    _, second, third, fourth, fifth = PRIMES
    hashed = np.full(len(columns[0]), fifth + np.uint64(8 * len(columns)), np.uint64)
    for column in columns:
        lane = _rotated(column.astype(np.uint64) * second, 31) * PRIMES[0]
        hashed = _rotated(hashed ^ lane, 27) * PRIMES[0] + fourth
    hashed = (hashed ^ (hashed >> np.uint64(33))) * second
    hashed = (hashed ^ (hashed >> np.uint64(29))) * third
    return hashed ^ (hashed >> np.uint64(32))


def _rotated(x: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))
