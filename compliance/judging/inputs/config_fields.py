"""The fields of a podium.toml. Unknown fields are errors, so that they are not silently ignored."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from podium.compliance.errors import UsageFault

FIELDS: Mapping[str, tuple[str, ...]] = {
    "": (
        "submitter",
        "usage",
        "round",
        "division",
        "deadline",
        "into",
        "systems",
        "results",
        "code",
        "documents",
        "waivers",
        "merge",
        "rules",
    ),
    "results": (
        "system",
        "benchmark",
        "scaling",
        "logs",
        "exclude",
        "names",
        "pruned",
        "runs",
        "power",
        "scaling_file",
    ),
    "code": ("folder", "benchmark", "implementation", "into", "exclude"),
}
"""The top-level fields, and the fields of the tables in lists, except `rules`.

`podium check` reads few of them and does not import their models; a test compares both."""

_MOST = 8


def refuse_unknown(data: Mapping[str, Any], text: str, path: str) -> None:
    """Raise UsageFault if a podium.toml has unknown fields."""
    faults = []
    for table, field in _unknown(data):
        line = _line_of(field, text)
        location = f"{path}:{line}" if line else path
        kind = "table" if f"[{field}]" in text.replace(" ", "") else "field"
        owner = f" of {table}" if table else ""
        faults.append(
            f"{location}: unknown {kind} {field}{owner}; {suggestion(field, FIELDS[table])}"
        )
    if faults:
        raise UsageFault("\npodium: ".join(faults[:_MOST]))


def suggestion(name: str, names: tuple[str, ...]) -> str:
    """The most similar name, or all names."""
    matches = difflib.get_close_matches(name.lower(), names, 1, 0.6)
    return f"did you mean {matches[0]}?" if matches else f"expected one of {', '.join(names)}"


def _unknown(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The unknown fields, each with its table; "" for top-level fields."""
    for field in data:
        if field not in FIELDS[""]:
            yield "", field
    for table in FIELDS.keys() - {""}:
        items = data.get(table)
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict):
                yield from ((table, field) for field in item if field not in FIELDS[table])


def _line_of(field: str, text: str) -> int | None:
    """The line of a field or a table; None if there is not exactly one."""
    name = rf"[\"']?{re.escape(field)}[\"']?"
    pattern = re.compile(rf"\s*(?:\[+\s*{name}\s*[\].]|{name}\s*[.=])")
    numbers = [number for number, line in enumerate(text.split("\n"), 1) if pattern.match(line)]
    return numbers[0] if len(numbers) == 1 else None
