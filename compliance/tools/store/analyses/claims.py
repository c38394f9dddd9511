"""Published claims about results, compared with a store to the digits that they state."""

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
"""Maximum number of decimals of a stated number, or of zeros in its power of ten."""

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
"""The units of a number: columns of the result; `x` is the speedup over `against`."""

NOTES = (
    "A number is consistent if the value in the store, rounded to the stated digits, equals it.",
    (
        "x: score of `against` over score of `result`; results are only compared if the table of "
        "compatible results, division and benchmark allow it."
    ),
)

Claim = Mapping[str, str]


def read_claims(path: Path) -> list[Claim]:
    """The lines of a CSV file of claims; raises UsageFault for an invalid file.

    Columns: `result` (its path, the end of it, or a glob), `number`, `unit` (see `UNITS`), and
    optionally `against` (for x) and `claim` (its text).
    """
    try:
        text = read_given(path, LARGEST).decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text), strict=True)
        missing = [name for name in REQUIRED if name not in (reader.fieldnames or ())]
        if missing:
            raise UsageFault(f"{path} lacks the columns {', '.join(missing)}")
        parsed: list[Claim] = []
        for row in reader:
            claim = {k: (v or "").strip() for k, v in row.items() if isinstance(k, str)}
            _refuse(f"{path}, line {reader.line_num}", claim)
            parsed.append(claim)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageFault(f"{path} cannot be read: {error}") from None
    return parsed


def _refuse(position: str, claim: Claim) -> None:
    if claim["unit"] not in UNITS:
        raise UsageFault(
            f"{position}: unit is {claim['unit']!r}; expected one of {', '.join(UNITS)}"
        )
    try:
        number = Decimal(claim["number"])
        finite = number.is_finite() and abs(_exponent(number)) <= MOST_DIGITS
    except InvalidOperation:
        finite = False
    if not finite:
        raise UsageFault(f"{position}: number is {claim['number']!r}; expected a number")
    if claim["unit"] == "x" and not claim.get("against"):
        raise UsageFault(f"{position}: against is empty; x needs the result to compare with")


def claims(results: Sequence[ResultRow], stated_claims: Sequence[Claim]) -> Analysis:
    """Each claim: consistent, inconsistent or not comparable with the store, and why."""
    rows = [_checked(results, claim) for claim in stated_claims]
    return Analysis("claims", "Claims compared with the store", COLUMNS, rows, notes=NOTES)


def _checked(results: Sequence[ResultRow], claim: Claim) -> dict[str, Any]:
    row: dict[str, Any] = {
        "claim": claim.get("claim") or f"{claim['result']}: {claim['number']} {claim['unit']}",
        "stated": float(claim["number"]),
        "unit": claim["unit"],
        "found": None,
    }
    words = [claim["result"], *([claim["against"]] if claim["unit"] == "x" else [])]
    matches = [named(results, word) for word in words]
    for word, candidates in zip(words, matches, strict=True):
        if len(candidates) != 1:
            problem = f"{len(candidates)} results are named" if candidates else "no result is named"
            return row | {"verdict": "not comparable", "why": f"{problem} {word}"}
    chosen = [candidates[0] for candidates in matches]
    row |= dict(zip(("result", "against"), (result.result for result in chosen), strict=False))
    against = obstacles(chosen[0], chosen[1]) if len(chosen) > 1 else []
    if against:
        return row | {"verdict": "not comparable", "why": "; ".join(against)}
    return row | _verdict(claim, chosen)


def _verdict(claim: Claim, chosen: Sequence[ResultRow]) -> dict[str, Any]:
    value = _value(claim["unit"], chosen)
    if value is None:
        return {"verdict": "not comparable", "why": f"the store has no {claim['unit']} for it"}
    number = Decimal(claim["number"])
    # To the stated digits: 2.2 is any number from 2.15 to just below 2.25
    digit = Decimal(1).scaleb(_exponent(number))
    rounded = Decimal(repr(float(value))).quantize(digit, ROUND_HALF_UP)
    same = rounded == number
    remarks = differences(chosen[0], chosen[1]) if len(chosen) > 1 else []
    if not same:
        remarks = [f"the value in the store rounds to {rounded}", *remarks]
    elif chosen[0].division == "open":
        remarks = ["open division: its model may differ", *remarks]
    verdict = "consistent" if same else "inconsistent"
    return {"verdict": verdict, "found": value, "why": "; ".join(remarks)}


def _exponent(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
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
