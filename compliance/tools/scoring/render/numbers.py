"""How numbers are written for people."""

from __future__ import annotations

import math

NONE = "-"


def minutes(value: float | None) -> str:
    """Minutes or a score: four decimals."""
    return NONE if value is None else f"{value:.4f}"


def factor(value: float) -> str:
    """A factor; nothing where it changes nothing."""
    return "" if value == 1 else f"{value:.4f}"


def share(value: float | None) -> str:
    """A share in percent."""
    return NONE if value is None or not math.isfinite(value) else f"{value:.1%}"


def count(value: float | None) -> str:
    """A count, or a number that may have a fraction; never in powers of ten."""
    if value is None:
        return NONE
    if not math.isfinite(value):
        return str(value)
    return str(int(value)) if value == int(value) else f"{value:.6f}".rstrip("0").rstrip(".")


def figure(value: float | None) -> str:
    """A mean, a minimum: six digits, never in powers of ten."""
    if value is None:
        return NONE
    # Samples run into millions, which the format `g` would write in powers of ten
    return f"{value:.0f}" if abs(value) >= 100_000 else f"{value:.6g}"


def energy(joules: float | None) -> str:
    """Joules, in the unit that leaves few digits."""
    if joules is None:
        return NONE
    for unit, size in (("GJ", 1e9), ("MJ", 1e6), ("kJ", 1e3)):
        if abs(joules) >= size:
            return f"{joules / size:.3f} {unit}"
    return f"{joules:.3f} J"
