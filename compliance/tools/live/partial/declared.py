"""The round, division, benchmark and reference of a run before its log states them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from podium.compliance.errors import UsageFault
from podium.compliance.judging.results.convergence import applies, references
from podium.rules.catalogue import UnknownRound, find_round, newest
from podium.rules.finding import Profile
from podium.rules.model.round import DIVISIONS, Round


@dataclass(frozen=True, slots=True)
class Declared:
    """The round, and the division and benchmark if they are known in advance; else empty."""

    rules: Round
    division: str = ""
    benchmark: str = ""


def declared(
    name: str | Round | None, division: str | None, benchmark: str | None, usage: str
) -> Declared:
    """The checked declaration; raises UsageFault for an unknown division or benchmark."""
    rules = name if isinstance(name, Round) else _round(usage, name)
    if division and division not in DIVISIONS:
        raise UsageFault(f"expected the division {' or '.join(DIVISIONS)}, got {division}")
    if benchmark and benchmark not in rules.benchmarks:
        suggestions = difflib.get_close_matches(benchmark, rules.benchmarks, n=2)
        hint = (
            f"did you mean {' or '.join(suggestions)}?"
            if suggestions
            else f"expected one of {_all(rules)}"
        )
        raise UsageFault(f"{benchmark} is not a benchmark of {rules.title}; {hint}")
    return Declared(rules, division or "", benchmark or "")


def _all(rules: Round) -> str:
    return ", ".join(rules.benchmarks)


def _round(usage: str, name: str | None) -> Round:
    try:
        return newest(usage) if name is None else find_round(usage, name)
    except UnknownRound as error:
        raise UsageFault(str(error)) from None


@dataclass(frozen=True, slots=True)
class Expected:
    """The convergence of the reference at a batch size; `reason` explains why it is unknown.

    `mean` and `minimum` are in `unit`: the mean of a result's `runs` must be at least `minimum`.
    """

    batch_size: float | None = None
    case: str = "none"
    mean: float | None = None
    minimum: float | None = None
    unit: str = ""
    runs: int | None = None
    reason: str = ""


def reference_at(
    rules: Round, benchmark: str, division: str, batch_size: float | None, profile: Profile
) -> Expected:
    """The expected convergence of a run at a batch size."""
    unit = rules.benchmark(benchmark).convergence.unit
    reason = applies(rules, benchmark, division)
    if reason or batch_size is None:
        return Expected(unit=unit, reason=reason or "global_batch_size is not known")
    try:
        reference = references(profile, rules, benchmark)
        case, point = reference.match(batch_size)
    except ImportError as error:
        return Expected(batch_size, unit=unit, reason=f"{error.name} is not installed")
    if point is None:
        none = f"no reference convergence point for batch size {batch_size:g}"
        return Expected(batch_size, case, unit=unit, runs=reference.needed, reason=none)
    return Expected(batch_size, case, point.mean, point.minimum, unit, reference.needed)
