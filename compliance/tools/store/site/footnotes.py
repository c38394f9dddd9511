"""The text that MLCommons asks for beside a result that is quoted."""

from __future__ import annotations

from podium.compliance.tools.store.site.row import Row

SUITES = {
    "training": ("Training", "mlcommons.org/benchmarks/training"),
    "hpc": ("HPC", "mlcommons.org/benchmarks/training-hpc"),
}
"""What each suite is called, and where its results are published."""

ENTRY, DATE = "[entry]", "[date of retrieval]"
"""What the logs do not say, and whoever quotes fills in."""

TRADEMARK = (
    "The MLPerf name and logo are registered and unregistered trademarks of MLCommons Association "
    "in the United States and other countries. All rights reserved. Unauthorized use strictly "
    "prohibited. See www.mlcommons.org for more information."
)


def footnotes(row: Row) -> tuple[str, str]:
    """(text for a published result, text for one that is not); empty where there is no score."""
    said = _quantity(row)
    if not said:
        return "", ""
    suite, place = SUITES.get(row["suite"], (str(row["suite"]), "mlcommons.org"))
    division = f"{row['division']} division" if row["division"] else "division not stated"
    category = row["category"] or "category not stated"
    chips = f"{row['chips'] or 'an unknown number of'} {row['chip'] or 'chips'}"
    facts = (
        f"MLPerf® {suite} v{row['round']}, {division}, {category}, benchmark {row['benchmark']}: "
        f"{said}, {chips}, submitted by {row['submitter']} on {row['system']}."
    )
    published = (
        f"{facts} Result verified by MLCommons Association, ID {row['round']}-{ENTRY}. "
        f"Retrieved from {place} on {DATE}. {TRADEMARK}"
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
