"""Numbers, sizes and lists as words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def join_limited(names: Sequence[str], limit: int = 8) -> str:
    """Join the first names for a message, with the number of the others."""
    name_list = ", ".join(names[:limit])
    return name_list if len(names) <= limit else f"{name_list} and {len(names) - limit} more"


def size_text(count: float) -> str:
    """A number of bytes with a unit."""
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def age_text(seconds: float) -> str:
    """A duration in one unit."""
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def distinct(*numbers: float) -> list[str]:
    """Write numbers with six digits, or with more digits if needed to distinguish them."""
    for digits in range(6, 16):
        texts = [f"{number:.{digits}g}" for number in numbers]
        if len({*texts}) == len({*numbers}):
            return texts
    return [repr(number) for number in numbers]


def plural(number: int, singular: str, plural_form: str = "") -> str:
    """Join a number and its noun: 1 error, 2 errors."""
    return f"{number} {singular if number == 1 else plural_form or singular + 's'}"


def there_are(number: int, singular: str) -> str:
    """A count as a clause: there is 1 run, there are 2 runs."""
    return f"there {'is' if number == 1 else 'are'} {plural(number, singular)}"
