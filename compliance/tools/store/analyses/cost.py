"""Time and cost to accuracy, as DAWNBench defined them, with a table of prices from the user.

Cost is hours times price times instances. The hours are from the score; there are as many instances
as the chips need.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from podium.compliance.errors import UsageFault
from podium.compliance.files.given import read_given
from podium.compliance.tools.store.analyses.material import ResultRow
from podium.compliance.tools.store.analyses.table import Analysis, Shown

LARGEST = 1 << 24
"""Maximum size of a table of prices in bytes."""

REQUIRED = (
    *("InstanceType", "AcceleratorName", "AcceleratorCount", "Region", "Price", "date", "source"),
)

_BY = ("suite", "round", "model", "division")
COLUMNS = (
    *(*_BY, "submitter", "system", "chips", "chip", "hours", "instance", "instances", "region"),
    *("price", "kind", "cost", "date", "source", "verdict", "result"),
)
SHOWN = (
    *(Shown("submitter"), Shown("chips"), Shown("instance"), Shown("instances", "n")),
    *(Shown("hours"), Shown("price", "$/h"), Shown("cost", "$"), Shown("date")),
)


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a table of prices: US dollars an hour for an instance with its chips."""

    instance: str
    accelerator: str
    count: int
    region: str
    price: float
    spot: float | None
    date: str
    source: str


def read_prices(path: Path) -> list[Price]:
    """The prices of a CSV file; raises UsageFault if a column, a date or a source is missing."""
    try:
        text = read_given(path, LARGEST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageFault(f"{path} cannot be read: {error}") from None
    try:
        reader = csv.DictReader(io.StringIO(text), strict=True)
        missing = [name for name in REQUIRED if name not in (reader.fieldnames or ())]
        if missing:
            raise UsageFault(f"{path} lacks the columns {', '.join(missing)}")
        return [_price(path, reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise UsageFault(f"{path} is not a CSV file: {error}") from None


def _price(path: Path, line: int, row: Mapping[str, str | None]) -> Price:
    fields = {name: (value or "").strip() for name, value in row.items() if isinstance(name, str)}
    position = f"{path}, line {line}"
    if not fields["source"]:
        raise UsageFault(f"{position}: source is empty; expected the origin of the price")
    try:
        date.fromisoformat(fields["date"])
    except ValueError:
        raise UsageFault(
            f"{position}: date is {fields['date']!r}; expected a day such as 2026-11-23"
        ) from None
    spot = fields.get("SpotPrice", "")
    return Price(
        instance=fields["InstanceType"],
        accelerator=fields["AcceleratorName"],
        count=int(_amount(position, "AcceleratorCount", fields["AcceleratorCount"], whole=True)),
        region=fields["Region"],
        price=_amount(position, "Price", fields["Price"]),
        spot=_amount(position, "SpotPrice", spot) if spot else None,
        date=fields["date"],
        source=fields["source"],
    )


def _amount(position: str, name: str, text: str, *, whole: bool = False) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number <= 0 or (whole and not number.is_integer()):
        kind = "whole number" if whole else "number of US dollars an hour"
        raise UsageFault(f"{position}: {name} is {text!r}; expected a {kind} above 0")
    return number


def cost_of(hours: float, price: float, instances: int = 1) -> float:
    """US dollars: hours times the price of an hour of all instances."""
    return hours * price * instances


def cost(results: Sequence[ResultRow], prices: Sequence[Price], *, spot: bool = False) -> Analysis:
    """The cost of each timed result whose chip has a price, the cheapest first."""
    rows = [
        row
        for result in results
        if result.score is not None and result.scaling == "strong"
        for price in prices
        if (row := _row(result, price, spot=spot)) is not None
    ]
    rows.sort(key=lambda row: (*(row[name] for name in _BY), row["cost"], row["result"]))
    used = sorted({f"{row['source']} ({row['date']})" for row in rows})
    notes = (
        (
            "hours: the score; cost = hours x price x the number of instances that the chips "
            "need. A result was made on the priced instance only if it says so."
        ),
        "Prices: " + ("; ".join(used) or "none matches") + ".",
    )
    title = "Cost: US dollars to train, with the given prices"
    return Analysis("cost", title, COLUMNS, rows, _BY, SHOWN, notes)


def same_chip(name: str, chip: str) -> bool:
    """Whether a price is for a chip: each word and number of its name is in the other name."""
    words, chip_words = (_words(text) for text in (name, chip))
    return bool(words) and words <= chip_words


def _words(text: str) -> set[str]:
    spaced = "".join(char if char.isalnum() else " " for char in text.casefold())
    return set(spaced.split())


def _row(result: ResultRow, price: Price, *, spot: bool) -> dict[str, Any] | None:
    hourly = price.spot if spot else price.price
    if not result.chips or hourly is None or not same_chip(price.accelerator, result.chip or ""):
        return None
    hours, instances = (result.score or 0.0) / 60, math.ceil(result.chips / price.count)
    fields = (*_BY, "submitter", "system", "chips", "chip", "verdict", "result")
    return {
        **{name: getattr(result, name) for name in fields},
        "hours": hours,
        "instance": price.instance,
        "instances": instances,
        "region": price.region,
        "price": hourly,
        "kind": "spot" if spot else "on demand",
        "cost": cost_of(hours, hourly, instances),
        "date": price.date,
        "source": price.source,
    }
