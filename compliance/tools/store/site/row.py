"""A row of a store's table for pages, and the texts with which to quote a result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from podium.compliance.text.chips import chip_family
from podium.logging_spec.limits import read_json

Row = dict[str, Any]
"""The values of a row by column name."""

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
"""Short names of categories; others are shown as written."""


def completed(row: Row, minutes: Sequence[float]) -> Row:
    """A row of `results` with values that pages derive: the chip's family, spread, margin, runs."""
    # The mean of all runs that count, as in `podium score`; the score has two of them less
    mean = sum(minutes) / len(minutes) if minutes else row["minutes"]
    deviation = row["deviation"]
    least, to_converge = row["rcp_minimum"], row["to_converge"]
    return row | {
        "family": chip_family(row["chip"]),
        "spread": deviation / mean if deviation is not None and mean else None,
        "over": to_converge / least - 1 if least and to_converge is not None else None,
        "run_minutes": minutes,
    }


MOST_MEMBERS, LONGEST = 200, 2000
"""Maximum number of fields of one description, and of characters of one value, on a page."""


def members(text: str | None) -> list[tuple[str, str]]:
    """The members of a JSON object as strings, in order; empty if the text is not an object."""
    try:
        document = read_json(text or "")
    except ValueError:
        return []
    if not isinstance(document, dict):
        return []
    return [(name, _text(value)) for name, value in [*document.items()][:MOST_MEMBERS]]


def numbers(text: str | None) -> list[float]:
    """The finite numbers of a JSON list; empty if the text is not a list."""
    try:
        document = read_json(text or "")
    except ValueError:
        return []
    if not isinstance(document, list):
        return []
    return [
        float(number)
        for number in document
        if isinstance(number, int | float) and abs(number) < 1e250
    ]


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def category(text: str | None) -> str:
    """The short name of a category for tables."""
    return CATEGORIES.get((text or "").lower(), text or "\u2013")


def plain(value: float | None, digits: int = 6) -> str:
    """A number without commas, which scripts can read; a dash for None."""
    if value is None:
        return "\u2013"
    return str(value) if isinstance(value, int) else f"{value:.{digits}g}"


SUITES = {
    "training": ("Training", "mlcommons.org/benchmarks/training"),
    "hpc": ("HPC", "mlcommons.org/benchmarks/training-hpc"),
}
"""The name of each suite, and the place of its published results."""

ENTRY, DATE = "[entry]", "[date of retrieval]"
"""Values that are not in the logs, to be filled in by the reader who quotes a result."""

TRADEMARK = (
    "The MLPerf name and logo are registered and unregistered trademarks of MLCommons Association "
    "in the United States and other countries. All rights reserved. Unauthorized use strictly "
    "prohibited. See www.mlcommons.org for more information."
)


def footnotes(row: Row) -> tuple[str, str]:
    """(text for a published result, text for an unpublished one); empty without a score."""
    quantity = _quantity(row)
    if not quantity:
        return "", ""
    suite, site = SUITES.get(row["suite"], (str(row["suite"]), "mlcommons.org"))
    division = f"{row['division']} division" if row["division"] else "division not stated"
    category = row["category"] or "category not stated"
    chips = f"{row['chips'] or 'an unknown number of'} {row['chip'] or 'chips'}"
    facts = (
        f"MLPerf® {suite} v{row['round']}, {division}, {category}, benchmark {row['benchmark']}: "
        f"{quantity}, {chips}, submitted by {row['submitter']} on {row['system']}."
    )
    published = (
        f"{facts} Result verified by MLCommons Association, ID {row['round']}-{ENTRY}. "
        f"Retrieved from {site} on {DATE}. {TRADEMARK}"
    )
    return (
        published,
        f"Unverified {facts} Result not verified by MLCommons Association. {TRADEMARK}",
    )


def _quantity(row: Row) -> str:
    if row["scaling"] == "weak":
        rate = row["models_per_minute"]
        return "" if rate is None else f"{rate:.4g} models per minute"
    return "" if row["score"] is None else f"{row['score']:.3f} minutes to train"
