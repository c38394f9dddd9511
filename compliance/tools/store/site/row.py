"""A row of a store's table, as pages take it."""

from __future__ import annotations

import json
from typing import Any

from podium.logging_spec.limits import read_json

Row = dict[str, Any]
"""Its columns by name."""

CATEGORIES = {
    "available cloud": "cloud",
    "available on-premise": "on-premise",
    "available on premise": "on-premise",
    "research, development, or internal (rdi)": "RDI",
    "research, development, or internal": "RDI",
    "research": "RDI",
    "rdi": "RDI",
    "preview": "preview",
}
"""Short names of categories; others stand as they are written."""

MOST_MEMBERS, LONGEST = 200, 2000
"""Fields of one description, and characters of one value, that a page shows."""


def members(text: str | None) -> list[tuple[str, str]]:
    """The members of a JSON object as texts, in order; none where the text is no such object."""
    try:
        found = read_json(text or "")
    except ValueError:
        return []
    if not isinstance(found, dict):
        return []
    return [(name, _text(value)) for name, value in [*found.items()][:MOST_MEMBERS]]


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def category(text: str | None) -> str:
    """A category as tables name it."""
    return CATEGORIES.get((text or "").lower(), text or "\u2013")


def plain(value: float | None, digits: int = 6) -> str:
    """A number without commas, which scripts read as well; a dash for None."""
    if value is None:
        return "\u2013"
    return str(value) if isinstance(value, int) else f"{value:.{digits}g}"
