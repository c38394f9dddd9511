"""What a guard is given before the log says it: round, division and benchmark."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from podium.compliance.errors import UsageFault
from podium.rules.catalogue import UnknownRound, find_round, newest
from podium.rules.model.round import DIVISIONS, Round


@dataclass(frozen=True, slots=True)
class Declared:
    """The round, and division and benchmark where they are known beforehand; else empty."""

    rules: Round
    division: str = ""
    benchmark: str = ""


def declared(
    name: str | Round | None, division: str | None, benchmark: str | None, usage: str
) -> Declared:
    """What is declared, checked; raises UsageFault for what does not exist."""
    rules = name if isinstance(name, Round) else _round(usage, name)
    if division and division not in DIVISIONS:
        raise UsageFault(f"there is no division {division}; must be {' or '.join(DIVISIONS)}")
    if benchmark and benchmark not in rules.benchmarks:
        near = difflib.get_close_matches(benchmark, rules.benchmarks, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"must be one of {_all(rules)}"
        raise UsageFault(f"{benchmark} is no benchmark of {rules.title}; {hint}")
    return Declared(rules, division or "", benchmark or "")


def _all(rules: Round) -> str:
    return ", ".join(rules.benchmarks)


def _round(usage: str, name: str | None) -> Round:
    try:
        return newest(usage) if name is None else find_round(usage, name)
    except UnknownRound as error:
        raise UsageFault(str(error)) from None
