"""Which keys the published logs of each benchmark carry, and in which rounds.

The data beside this module is made by `benchmarks/published_keys.py` from published results.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec

from podium.rules.package_data import read_beside

FILE = "published_keys.json"

Keys = Mapping[str, Mapping[str, Mapping[str, tuple[str, ...]]]]
"""Usage, benchmark as logs name it, key: the rounds in which its logs carry the key."""


class Published(msgspec.Struct, frozen=True):
    """The data file: from how many logs of which results it was made, and the keys."""

    source: str
    keys: Keys


@cache
def published() -> Published:
    """The data file; raises msgspec.ValidationError where it is damaged."""
    return msgspec.json.decode(read_beside(__spec__, FILE), type=Published)


def keys_of(usage: str, benchmark: str) -> Mapping[str, tuple[str, ...]]:
    """The keys that published logs of a benchmark carry, each with the rounds of those logs."""
    return published().keys.get(usage, {}).get(benchmark, {})
