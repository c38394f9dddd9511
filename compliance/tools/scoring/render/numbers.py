"""Format numbers for people."""

from __future__ import annotations

import math

NONE = "-"


def minutes(value: float | None) -> str:
    """Minutes or a score, with four decimals."""
    return NONE if value is None else f"{value:.4f}"


def factor(value: float) -> str:
    """A factor; empty for 1."""
    return "" if value == 1 else f"{value:.4f}"


def share(value: float | None) -> str:
    """A fraction as a percentage."""
    return NONE if value is None or not math.isfinite(value) else f"{value:.1%}"


def count(value: float | None) -> str:
    """A count, or a number with decimals; never in scientific notation."""
    if value is None:
        return NONE
    if not math.isfinite(value):
        return str(value)
    return str(int(value)) if value == int(value) else f"{value:.6f}".rstrip("0").rstrip(".")


def figure(value: float | None) -> str:
    """A mean or a minimum, with six digits; never in scientific notation."""
    if value is None:
        return NONE
    # Samples may be millions, for which the format `g` would use scientific notation
    return f"{value:.0f}" if abs(value) >= 100_000 else f"{value:.6g}"


def energy(joules: float | None) -> str:
    """An energy in joules, in a unit that needs few digits."""
    if joules is None:
        return NONE
    for unit, size in (("GJ", 1e9), ("MJ", 1e6), ("kJ", 1e3)):
        if abs(joules) >= size:
            return f"{joules / size:.3f} {unit}"
    return f"{joules:.3f} J"
