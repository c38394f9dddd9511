"""A permutation of samples without a list, for very large datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

ROUNDS = 6


class Permutation(Sequence[int]):
    """The numbers from 0 to `count` - 1, each once, in an order determined by a seed.

    Only a few keys are stored. A Feistel network encrypts each number over the next power of four,
    repeatedly until the result is below `count` (Black and Rogaway, Ciphers with Arbitrary Finite
    Domains, 2002). A slice is an array, (S,).
    """

    def __init__(self, count: int, seed: Sequence[int]) -> None:
        self._count = count
        self._half = np.uint64(max(1, ((count - 1).bit_length() + 1) // 2))
        self._mask = (np.uint64(1) << self._half) - np.uint64(1)
        rng = np.random.default_rng(seed)
        self._keys = rng.integers(0, 2**64, ROUNDS, dtype=np.uint64)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> Any: ...

    def __getitem__(self, index: int | slice) -> Any:
        positions = self._enciphered(_places(self._count, index))
        beyond = np.flatnonzero(positions >= self._count)
        while len(beyond):
            positions[beyond] = self._enciphered(positions[beyond])
            beyond = beyond[positions[beyond] >= self._count]
        return positions.astype(np.int64) if isinstance(index, slice) else int(positions[0])

    def _enciphered(self, number: NDArray[np.uint64]) -> NDArray[np.uint64]:
        left, right = number >> self._half, number & self._mask
        for key in self._keys:
            left, right = right, left ^ (_mixed(right + key) & self._mask)
        return (left << self._half) | right


def _places(count: int, index: int | slice) -> NDArray[np.uint64]:
    chosen = range(count)[index]
    return np.array([chosen] if isinstance(chosen, int) else chosen, dtype=np.uint64)


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix every bit of a number into every other bit (the finalizer of MurmurHash3)."""
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return x ^ (x >> np.uint64(33))
