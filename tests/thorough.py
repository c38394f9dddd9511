"""The size of the long suite: a selection that fits into an hour, or everything."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")


def usually(chosen: T, everything: T) -> T:
    """The usual selection, or everything if PODIUM_THOROUGH is set."""
    return everything if os.environ.get("PODIUM_THOROUGH") else chosen
