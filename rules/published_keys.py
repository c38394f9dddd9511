"""The keys in the published logs of each benchmark, and their rounds.

`benchmarks/published_keys.py` makes the data next to this module from published results.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec

from podium.rules.package_data import read_beside

FILE = "published_keys.json"

Keys = Mapping[str, Mapping[str, Mapping[str, tuple[str, ...]]]]
"""Usage, benchmark as logs name it, key: the rounds in which its logs have the key."""


class Published(msgspec.Struct, frozen=True):
    """The data file: the keys, and the number and source of the logs."""

    source: str
    keys: Keys


@cache
def published() -> Published:
    """The data file; raises msgspec.ValidationError if it is damaged."""
    return msgspec.json.decode(read_beside(__spec__, FILE), type=Published)


def keys_of(usage: str, benchmark: str) -> Mapping[str, tuple[str, ...]]:
    """The keys in published logs of a benchmark, each with the rounds of those logs."""
    return published().keys.get(usage, {}).get(benchmark, {})
