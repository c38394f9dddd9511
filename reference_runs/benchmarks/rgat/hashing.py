"""Random numbers from hashes of their purpose, so that they do not depend on the order of draws.

A hash function mixes a number and a key; equal inputs give the same random number on every rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor


def uniform(number: NDArray[np.int64], key: int) -> NDArray[np.float64]:
    """A number from 0 to 1 for each input, of 53 bits (the mixing of SplitMix64)."""
    # Products are meant to wrap around, which mixes the bits
    with np.errstate(over="ignore"):
        x = number.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(key)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53


def uniform_tensor(number: Tensor, key: int) -> Tensor:
    """A number from 0 to 1 for each input, on its device, of 32 bits (the mixing of MurmurHash3).

    torch cannot multiply and shift unsigned 64-bit integers, as `uniform` does.
    """
    # A tensor: torch.compile treats the bits of a changing Python number as a float
    own = torch.full((), key, dtype=torch.int64, device=number.device)
    x = (number * 0x9E3779B1 + (own * 0x85EBCA77 & 0xFFFFFFFF)) & 0xFFFFFFFF
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = ((x ^ (x >> shift)) * factor) & 0xFFFFFFFF
    return (x ^ (x >> 16)).double() * 2.0**-32
