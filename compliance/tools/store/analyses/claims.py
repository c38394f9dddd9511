"""Statements about results checked against a store, to the digit that they print."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from podium.compliance.errors import UsageFault
from podium.compliance.files.given import read_given
from podium.compliance.tools.store.analyses.compare import differences, named, obstacles
from podium.compliance.tools.store.analyses.material import ResultRow
from podium.compliance.tools.store.analyses.table import Analysis

LARGEST = 1 << 24
MOST_DIGITS = 12
"""Digits behind the point of a number stated, or zeros in its power of ten."""

REQUIRED = ("result", "number", "unit")
COLUMNS = ("claim", "verdict", "stated", "found", "unit", "why", "result", "against")

UNITS = {
    "minutes": "score",
    "chips": "chips",
    "joules": "joules",
    "models/minute": "models_per_minute",
    "runs": None,
    "x": None,
}
"""What a number may be of: a column of the result; `x` is how many times faster than `against`."""

NOTES = (
    "A number is consistent where the store's, rounded to the digits stated, is the same.",
    (
        "x: score of `against` over score of `result`; results are compared only where the table "
        "of compatible results, division and benchmark allow it."
    ),
)

Claim = Mapping[str, str]


def read_claims(path: Path) -> list[Claim]:
    """The lines of a CSV of statements; raises UsageFault for what is none.

    Columns: `result` (its path, the end of it, or a glob), `number`, `unit` (see `UNITS`), and
    optionally `against` (for x) and `claim` (its words).
    """
    try:
        text = read_given(path, LARGEST).decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text), strict=True)
        missing = [name for name in REQUIRED if name not in (reader.fieldnames or ())]
        if missing:
            raise UsageFault(f"{path} lacks the columns {', '.join(missing)}")
        found: list[Claim] = []
        for row in reader:
            told = {k: (v or "").strip() for k, v in row.items() if isinstance(k, str)}
            _refuse(f"{path}, line {reader.line_num}", told)
            found.append(told)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageFault(f"{path} cannot be read: {error}") from None
    return found


def _refuse(where: str, told: Claim) -> None:
    if told["unit"] not in UNITS:
        raise UsageFault(f"{where}: unit is {told['unit']!r}; must be one of {', '.join(UNITS)}")
    try:
        number = Decimal(told["number"])
        finite = number.is_finite() and abs(_exponent(number)) <= MOST_DIGITS
    except InvalidOperation:
        finite = False
    if not finite:
        raise UsageFault(f"{where}: number is {told['number']!r}; must be a number")
    if told["unit"] == "x" and not told.get("against"):
        raise UsageFault(f"{where}: against is empty; x needs the result that is compared with")


def claims(results: Sequence[ResultRow], stated: Sequence[Claim]) -> Analysis:
    """Each statement: consistent, inconsistent or not comparable with the store, and why."""
    rows = [_checked(results, one) for one in stated]
    return Analysis("claims", "Claims, against the store", COLUMNS, rows, notes=NOTES)


def _checked(results: Sequence[ResultRow], told: Claim) -> dict[str, Any]:
    row: dict[str, Any] = {
        "claim": told.get("claim") or f"{told['result']}: {told['number']} {told['unit']}",
        "stated": float(told["number"]),
        "unit": told["unit"],
        "found": None,
    }
    words = [told["result"], *([told["against"]] if told["unit"] == "x" else [])]
    meant = [named(results, word) for word in words]
    for word, found in zip(words, meant, strict=True):
        if len(found) != 1:
            what = f"{len(found)} results are named" if found else "no result is named"
            return row | {"verdict": "not comparable", "why": f"{what} {word}"}
    chosen = [found[0] for found in meant]
    row |= dict(zip(("result", "against"), (each.result for each in chosen), strict=False))
    against = obstacles(chosen[0], chosen[1]) if len(chosen) > 1 else []
    if against:
        return row | {"verdict": "not comparable", "why": "; ".join(against)}
    return row | _verdict(told, chosen)


def _verdict(told: Claim, chosen: Sequence[ResultRow]) -> dict[str, Any]:
    value = _value(told["unit"], chosen)
    if value is None:
        return {"verdict": "not comparable", "why": f"the store has no {told['unit']} of it"}
    stated = Decimal(told["number"])
    # To the digit stated: 2.2 is any number from 2.15 to just below 2.25
    digit = Decimal(1).scaleb(_exponent(stated))
    rounded = Decimal(repr(float(value))).quantize(digit, ROUND_HALF_UP)
    same = rounded == stated
    said = differences(chosen[0], chosen[1]) if len(chosen) > 1 else []
    if not same:
        said = [f"the store rounds to {rounded}", *said]
    elif chosen[0].division == "open":
        said = ["open division: its model may differ", *said]
    verdict = "consistent" if same else "inconsistent"
    return {"verdict": verdict, "found": value, "why": "; ".join(said)}


def _exponent(stated: Decimal) -> int:
    exponent = stated.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _value(unit: str, chosen: Sequence[ResultRow]) -> float | None:
    first = chosen[0]
    if unit == "x":
        other = chosen[1].score
        return other / first.score if other and first.score else None
    if unit == "runs":
        return len(first.runs)
    value: float | None = getattr(first, UNITS[unit] or "")
    return value
