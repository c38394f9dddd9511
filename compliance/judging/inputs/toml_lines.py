"""Where the tables of a TOML file stand, which no parser tells."""

from __future__ import annotations

import re
from typing import Any


def heads_of(text: str, table: str, items: Any) -> tuple[int | None, ...]:
    """The lines, from 1, of the heads `[[table]]`, of which the file has so many items."""
    count = len(items) if isinstance(items, list) else 0
    heads = re.compile(rf"\s*\[\[\s*[\"']?{re.escape(table)}[\"']?\s*\]\]")
    found = [number for number, line in enumerate(text.split("\n"), 1) if heads.match(line)]
    # A head inside a multi-line text would count: then better no line than a wrong one.
    return tuple(found) if len(found) == count else (None,) * count
