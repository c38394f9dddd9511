"""How often each rule fires on published submissions.

`benchmarks/rates.py` computes the rates and writes them into `rates.json`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from podium.rules.package_data import read_beside


class Rate(msgspec.Struct, frozen=True):
    """The number of published results (or submissions) on which a rule fires, out of its scope."""

    fired: int
    judged: int
    unit: str

    @property
    def text(self) -> str:
        """`3 of 40 published results`."""
        return f"{self.fired or 'none'} of {self.judged} published {self.unit}"

    def to_dict(self) -> dict[str, Any]:
        """The rate as JSON data."""
        return {"fired": self.fired, "judged": self.judged, "unit": self.unit}


class Rates(msgspec.Struct, frozen=True):
    """The rates of all measured rules by id; `source` names the data.

    `results` and `submissions` have (fired, judged) for the rules about results or submissions.
    """

    source: str
    results: dict[str, tuple[int, int]]
    submissions: dict[str, tuple[int, int]]

    def of(self, rule: str) -> Rate | None:
        """The rate of a rule; None if no published file is in its scope."""
        for unit, measured in (("results", self.results), ("submissions", self.submissions)):
            if rule in measured:
                fired_count, judged = measured[rule]
                return Rate(fired_count, judged, unit)
        return None


@cache
def rates() -> Rates:
    """The rates included in podium."""
    return msgspec.json.decode(read_beside(__spec__, "rates.json"), type=Rates)
