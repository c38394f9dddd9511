"""How much of the long suite is tried: a choice that fits into an hour, or all of it."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")


def usually(chosen: T, everything: T) -> T:
    """What is tried each time, or with PODIUM_THOROUGH set everything."""
    return everything if os.environ.get("PODIUM_THOROUGH") else chosen
