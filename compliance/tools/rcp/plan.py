"""`podium rcp plan`: the bounds at a batch size, before the runs and between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Literal

from podium.compliance.errors import UsageFault
from podium.compliance.reporting.json_text import json_text
from podium.compliance.text.terminal import clean, wrap
from podium.compliance.tools.rcp.show import reference_member
from podium.compliance.tools.scoring.render import numbers
from podium.compliance.tools.scoring.render.numbers import figure
from podium.rules.convergence.statistics import normalisation, trimmed

if TYPE_CHECKING:
    from podium.rules.convergence.method import Case, Reference, References
    from podium.rules.model.round import Round

SCHEMA = "podium.rcp-plan/1"

Outlook = Literal["open", "certain", "impossible", "passed", "failed"]


@dataclass(frozen=True, slots=True)
class Progress:
    """The results that are possible after the finished runs.

    `least` is the earliest point at which each remaining run may converge if all are equal; None if
    they cannot change the outcome. `lowest` and `highest` bound the result's mean; `highest` is
    None if it is unbounded. `expected` is the mean if the rest converge like the reference.
    """

    finished: tuple[float, ...]
    remaining: int
    outlook: Outlook
    lowest: float
    highest: float | None
    least: float | None
    expected: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """The minimum at a batch size; `reference` is None without points to compare with."""

    rules: Round
    benchmark: str
    batch_size: float
    known: References
    case: Case
    reference: Reference | None
    minimum: float | None
    progress: Progress | None = None
    deadline: date | None = None

    @property
    def points_due(self) -> date | None:
        """The last day for new reference points; None without a deadline or a rule about it."""
        days = self.rules.package.points_due_days
        return None if days is None or self.deadline is None else self.deadline - timedelta(days)

    @property
    def hopeless(self) -> bool:
        """Whether no result at this batch size can pass."""
        if self.reference is None:
            return True
        return self.progress is not None and self.progress.outlook in ("impossible", "failed")


def plan(
    rules: Round,
    benchmark: str,
    references: References,
    batch_size: float,
    finished: Sequence[float] | None = None,
    deadline: date | None = None,
) -> Plan:
    """Plan a result; `finished` are the runs so far, with infinity for no convergence.

    `deadline` is the last day of submission, if known.
    """
    case, reference = references.match(batch_size)
    if reference is None:
        return Plan(rules, benchmark, batch_size, references, case, None, None, deadline=deadline)
    allowance = references.way.allowance(rules.benchmark(benchmark).convergence)
    # 5.0 allows Llama 3.1 405B to converge one evaluation sooner: v5.0 Specific Rules
    minimum = max(0.0, reference.minimum - allowance)
    progress = None
    if finished:
        progress = progress_of(
            finished, references.needed, references.dropped, minimum, reference.mean
        )
    return Plan(
        rules, benchmark, batch_size, references, case, reference, minimum, progress, deadline
    )


def finished_values(text: str) -> list[float]:
    """The numbers of `--finished`; `x` or `inf` means no convergence."""
    values = []
    for part in text.split(","):
        word = part.strip().lower()
        try:
            value = math.inf if word in ("x", "inf") else float(word)
        except ValueError:
            value = math.nan
        if math.isnan(value) or value <= 0:
            raise UsageFault(
                f"--finished {text}: expected a number above 0, or x for a run that did not "
                f"converge, got {part.strip() or 'nothing'}"
            )
        values.append(value)
    return values


def progress_of(
    finished: Sequence[float], needed: int, drop: int, minimum: float, mean: float
) -> Progress:
    """The possible results after some of the runs."""
    if len(finished) > needed:
        raise UsageFault(f"--finished names {len(finished)} runs; a result has {needed}")
    remaining = needed - len(finished)
    # The mean is bounded: counts are at least 0, and a run that never converges is infinite
    lowest = _mean([*finished, *[0.0] * remaining], drop)
    highest = _mean([*finished, *[math.inf] * remaining], drop)
    failed = sum(math.isinf(value) for value in finished)
    # With more failures than dropped runs, no mean is finite
    if failed > drop:
        outlook: Outlook = "failed" if not remaining else "impossible"
        return Progress(tuple(finished), remaining, outlook, lowest, None, None, None)
    outlook = _outlook(lowest, highest, minimum, remaining)
    least = None
    if outlook == "open":
        least = _least(finished, remaining, drop, minimum)
    expected = _mean([*finished, *[mean] * remaining], drop)
    return Progress(
        tuple(finished),
        remaining,
        outlook,
        lowest,
        highest if math.isfinite(highest) else None,
        least,
        expected,
    )


def _outlook(lowest: float, highest: float, minimum: float, remaining: int) -> Outlook:
    if not remaining:
        return "passed" if lowest >= minimum else "failed"
    if lowest >= minimum:
        return "certain"
    return "open" if highest >= minimum else "impossible"


def _mean(values: list[float], drop: int) -> float:
    remaining = trimmed(values, drop)
    return math.fsum(remaining) / len(remaining) if all(map(math.isfinite, remaining)) else math.inf


def _least(finished: Sequence[float], remaining: int, drop: int, minimum: float) -> float:
    """The minimum for all remaining runs if they are equal, by bisection."""
    low, high = 0.0, max([minimum, *(v for v in finished if math.isfinite(v))]) * 2 * len(finished)
    high += minimum * (remaining + len(finished))
    # By bisection: the dropped values depend on the result, so no formula gives it
    while high - low > 1e-9 * max(1.0, high):
        middle = (low + high) / 2
        if _mean([*finished, *[middle] * remaining], drop) >= minimum:
            high = middle
        else:
            low = middle
    return high


# --- as text and JSON -----------------------------------------------------------------------------

_CASES = {
    "found": "a reference was run at this batch size",
    "interpolated": "no reference was run at this batch size: interpolated between two points",
    "below_range": "below every reference point: compared with the smallest; a faster result "
    "needs reference runs at this batch size",
    "above_range": "above every reference point",
    "none": "the round has no reference point for this benchmark",
}


def plan_text(planned: Plan, width: int) -> str:
    """The plan as text."""
    unit = planned.rules.benchmark(planned.benchmark).convergence.unit
    title = (
        f"{planned.benchmark} in {planned.rules.title} at global batch size "
        f"{numbers.count(planned.batch_size)}: {_CASES[planned.case]}."
    )
    lines = wrap(clean(title), width)
    reference = planned.reference
    if reference is None:
        lines += wrap(_nothing(planned), width)
        return "\n".join([*lines, *_due_lines(planned, width)]) + "\n"
    assert planned.minimum is not None
    lines += ["", f"reference mean       {figure(reference.mean)} {unit}"]
    lines.append(f"standard deviation   {figure(reference.deviation)}")
    lines.append(f"minimum of a result  {figure(planned.minimum)}")
    lines.append(f"highest speedup      {_percent(reference.mean, planned.minimum)}")
    lines.append(f"points used          {', '.join(map(clean, reference.ids))}")
    lines.append("")
    lines += wrap(
        f"A result has {planned.known.needed} runs; {planned.known.dropped} at each end "
        f"{'is' if planned.known.dropped == 1 else 'are'} dropped. "
        f"The mean of the others must be at least {figure(planned.minimum)} {unit}; below "
        f"{figure(reference.mean)} the score is multiplied by {figure(reference.mean)} / mean.",
        width,
    )
    if planned.progress is not None:
        lines += ["", *_progress_lines(planned, planned.progress, unit, width)]
    lines += _due_lines(planned, width)
    return "\n".join(lines) + "\n"


def _due_lines(planned: Plan, width: int) -> list[str]:
    days, due = planned.rules.package.points_due_days, planned.points_due
    if days is None:
        return []
    date_text = f"by {due}, " if due else ""
    deadline = f" of {planned.deadline}" if due else " (set `deadline` in podium.toml for the date)"
    text = (
        f"New reference points are due {date_text}{days} days before the deadline{deadline}. "
        "Submit evidence for an appeal with the submission."
    )
    return ["", *wrap(text, width)]


def _percent(mean: float, minimum: float) -> str:
    return f"{mean / minimum - 1:.2%}" if minimum > 0 else "any"


def _nothing(planned: Plan) -> str:
    if planned.case == "above_range":
        largest = numbers.count(planned.known.used[-1].batch_size)
        return (
            f"The largest reference point is at {largest}. Ask for reference runs at this batch "
            "size, or choose a smaller one."
        )
    return "Ask the training working group for reference runs."


def _progress_lines(planned: Plan, progress: Progress, unit: str, width: int) -> list[str]:
    assert planned.reference is not None
    assert planned.minimum is not None
    finished = len(progress.finished)
    lines = wrap(f"{finished} of {planned.known.needed} runs are finished.", width)
    if progress.outlook in ("passed", "failed"):
        mean = "no mean" if math.isinf(progress.lowest) else f"a mean of {figure(progress.lowest)}"
        lines += wrap(f"Their result is {mean}: the test is {progress.outlook}.", width)
    elif progress.outlook == "impossible":
        lines += wrap("The test fails whatever the other runs do: repeat the set of runs.", width)
    elif progress.outlook == "certain":
        lines += wrap("The test passes if the other runs converge.", width)
    else:
        assert progress.least is not None
        lines += wrap(
            f"The test passes if each of the other {progress.remaining} runs converges at "
            f"{figure(progress.least)} {unit} or later.",
            width,
        )
    if progress.outlook in ("open", "certain") and progress.expected is not None:
        lines += wrap(_expectation(planned, progress), width)
    return lines


def _expectation(planned: Plan, progress: Progress) -> str:
    assert planned.reference is not None
    assert planned.minimum is not None
    assert progress.expected is not None
    text = "If the other runs converge like the reference, "
    if math.isinf(progress.expected):
        return text + "the mean is infinite."
    passed = progress.expected >= planned.minimum
    text += f"the mean is {figure(progress.expected)}: {'passed' if passed else 'failed'}"
    factor = normalisation(planned.reference.mean, progress.expected)
    return f"{text}, factor {factor:.6g}." if passed else f"{text}."


def plan_json(planned: Plan) -> str:
    """The plan as JSON."""
    progress = planned.progress
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "usage": planned.rules.usage,
        "round": planned.rules.name,
        "profile": planned.known.way.name,
        "benchmark": planned.benchmark,
        "batch_size": planned.batch_size,
        "unit": planned.rules.benchmark(planned.benchmark).convergence.unit,
        "case": planned.case,
        "runs": planned.known.needed,
        "dropped": planned.known.dropped,
        "reference": None if planned.reference is None else reference_member(planned.reference),
        "minimum": planned.minimum,
        "points_due": None if planned.points_due is None else planned.points_due.isoformat(),
        "progress": None if progress is None else _progress_member(progress),
    }
    return json_text(document)


def _progress_member(progress: Progress) -> dict[str, Any]:
    def plain(value: float | None) -> float | None:
        # JSON has no infinity
        return None if value is None or math.isinf(value) else value

    return {
        "finished": [plain(value) for value in progress.finished],
        "remaining": progress.remaining,
        "outlook": progress.outlook,
        "lowest": plain(progress.lowest),
        "highest": plain(progress.highest),
        "least": plain(progress.least),
        "expected": plain(progress.expected),
    }
