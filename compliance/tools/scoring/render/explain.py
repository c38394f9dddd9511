"""The calculation of one score, step by step, for a check by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from podium.compliance.text.terminal import clean, wrap
from podium.compliance.tools.scoring.findings import about_times
from podium.compliance.tools.scoring.render import numbers
from podium.compliance.tools.scoring.render.numbers import figure
from podium.compliance.tools.scoring.render.table import table
from podium.compliance.tools.scoring.render.text import differs, heading_of
from podium.rules.finding import Profile

if TYPE_CHECKING:
    from podium.compliance.tools.scoring.report import RunEntry
    from podium.compliance.tools.scoring.row import ScoredResult


_CASES = {
    "found": "measured",
    "interpolated": "interpolated",
    "below_range": "the smallest measured",
    "above_range": "larger than all measured",
    "none": "none",
}


def explain(scored: ScoredResult, width: int = 80) -> str:
    """The runs, the dropped runs with reasons, the mean, the factor and the score."""
    entry = scored.entry
    title = f"{heading_of(entry, several=True)}: {clean(entry.benchmark)}"
    lines = [*wrap(title, width, "", "  "), *_wrong_times(scored, width), ""]
    steps = _weak(scored, width) if entry.scaling == "weak" else _strong(scored, width)
    lines += steps
    return "\n".join(lines) + "\n"


def _wrong_times(scored: ScoredResult, width: int) -> Iterator[str]:
    """The first error in the times, which affects all other numbers, and the number of errors."""
    findings = [*about_times(scored)]
    if findings:
        name = findings[0].path.rpartition("/")[2]
        suffix = f" (and {len(findings) - 1} more like it)" if len(findings) > 1 else ""
        yield from wrap(clean(f"error: {name}: {findings[0].message}{suffix}"), width, "", "  ")


def _strong(scored: ScoredResult, width: int) -> Iterator[str]:
    entry, score = scored.entry, scored.result.score
    ends = f"{entry.dropped} fastest and {entry.dropped} slowest"
    yield from wrap(
        f"1. {_timed(scored)} A result of {clean(entry.benchmark)} needs "
        f"{entry.needed} runs; the {ends} are dropped, and a run that did not converge counts as "
        "slowest.",
        width,
        "",
        "   ",
    )
    yield ""
    rows = [_run(run) for run in entry.run_list]
    yield from table(("run", "minutes", "part", entry.unit), rows, width, left=(0, 2))
    yield ""
    yield from _mean(scored, width)
    yield ""
    yield from _factor(scored, width)
    yield ""
    yield from _result(scored, width)
    for problem in score.problems:
        yield from wrap(f"No valid score: {problem}.", width)


def _timed(scored: ScoredResult) -> str:
    """The definition of the time of a run."""
    result = scored.result
    ends_with = result.rules.benchmark(result.place.benchmark).ends_with
    # The official summary uses only run_stop
    if not ends_with or result.profile is Profile.VERIFIER:
        return "Time to train is run_stop - run_start."
    return (
        f"Time to train is the timestamp of {ends_with}: the seconds from run_start to the model "
        "that won. If there is such a timestamp, run_stop is ignored."
    )


def _run(run: RunEntry) -> tuple[str, ...]:
    name = clean(run.path.rpartition("/")[2])
    part = clean(run.why) if run.why else run.role
    return name, numbers.minutes(run.minutes), part, numbers.count(run.to_converge)


def _mean(scored: ScoredResult, width: int) -> Iterator[str]:
    entry = scored.entry
    values = [run.minutes for run in entry.run_list if run.scored and run.minutes is not None]
    if entry.minutes is None or not values:
        yield from wrap("2. The result has no mean and no score.", width, "", "   ")
        return
    terms = [f"{minutes:.6f}" for minutes in values]
    # A result of unet3d has 32 scored runs
    if len(terms) > 12:
        terms = [*terms[:5], "...", *terms[-5:]]
    text = f"2. The mean of the {len(values)} remaining runs: ({' + '.join(terms)}) / {len(values)}"
    # All digits: published scores can be compared to the last one
    yield from wrap(f"{text} = {entry.minutes!r} minutes.", width, "", "   ")


def _factor(scored: ScoredResult, width: int) -> Iterator[str]:
    entry, factor, judged = scored.entry, scored.result.score.factor, scored.result.convergence
    if judged.submission is not None and judged.mean is not None:
        text = (
            f"3. The runs converge after {figure(judged.submission)} {judged.unit} on average. "
            f"The reference at batch size {numbers.count(judged.batch_size)} converges after "
            f"{figure(judged.mean)} ({_CASES[judged.case]}); the minimum is "
            f"{figure(judged.minimum)}: {judged.verdict}."
        )
        if judged.scaling_factor != 1:
            text += (
                f" That implies the factor {judged.mean!r} / {judged.submission!r} = "
                f"{judged.scaling_factor!r}."
            )
    else:
        reasons = "; ".join(judged.messages)
        text = (
            "3. No reference convergence point scales this result"
            f"{': ' if reasons else ''}{reasons}."
        )
    yield from wrap(clean(text), width, "", "   ")
    source = {
        "none": "No factor applies.",
        "rcp": f"The factor is {entry.factor!r}, from the reference convergence points.",
        "scaling.json": f"The factor is {entry.factor!r}, from scaling.json.",
    }[entry.factor_source]
    yield from wrap(source, width, "   ", "   ")
    if entry.factors == "published" and entry.factor_source == "none" and differs(entry):
        text = (
            f"The result has no scaling.json, and the results of {entry.round} are published: "
            "published scores use only factors from scaling.json. --factors computed multiplies "
            f"by {entry.computed_factor!r}."
        )
        yield from wrap(text, width, "   ", "   ")
    if factor.note:
        yield from wrap(f"Note: {clean(factor.note)}.", width, "   ", "   ")


def _result(scored: ScoredResult, width: int) -> Iterator[str]:
    entry = scored.entry
    if entry.score is not None:
        yield from wrap(
            f"4. Score: {entry.minutes!r} x {entry.factor!r} = {entry.score!r} minutes.",
            width,
            "",
            "   ",
        )
    spread = entry.spread
    if spread is not None:
        yield from wrap(
            f"The standard deviation of the times is {spread.deviation:.6g} minutes, "
            f"{spread.relative:.2%} of the mean {spread.mean:.6g}; {spread.usual:.1%} is usual.",
            width,
            "   ",
            "   ",
        )
    if entry.energy_joules is not None:
        yield from wrap(
            f"Energy: {entry.energy_joules!r} J, the mean of the scored runs; scaled "
            f"{entry.scaled_energy_joules!r} J.",
            width,
            "   ",
            "   ",
        )
    if entry.quality is not None:
        text = f"Final quality (geometric mean of the runs): {entry.quality!r}."
        yield from wrap(text, width, "   ", "   ")


def _weak(scored: ScoredResult, width: int) -> Iterator[str]:
    entry, throughput = scored.entry, scored.result.throughput
    assert throughput is not None
    yield from wrap(
        f"1. Throughput: all instances count (at least {entry.needed}); none is dropped.",
        width,
        "",
        "   ",
    )
    yield ""
    rows = _instances(entry.run_list)
    heads = ("instance", "starts after, min", "stops after, min", "converged")
    yield from table(heads, rows, width)
    yield ""
    yield from wrap(
        f"2. From the first start to the last stop: {entry.time_to_train_all!r} minutes for M' = "
        f"{entry.models} models at S = {numbers.count(entry.instance_scale)} of T = "
        f"{numbers.count(entry.total_scale)} accelerators.",
        width,
        "",
        "   ",
    )
    yield ""
    yield from wrap(
        f"3. Throughput: {entry.models} / {entry.time_to_train_all!r} = "
        f"{entry.models_per_minute!r} models per minute.",
        width,
        "",
        "   ",
    )
    for problem in throughput.problems:
        yield from wrap(f"No valid result: {clean(problem)}.", width)


def _instances(runs: list[RunEntry]) -> list[tuple[str, ...]]:
    # HPC rules: throughput is timed from the first start of any instance
    origin = min((run.start_ms for run in runs if run.start_ms is not None), default=0.0)
    return [
        (
            clean(run.path.rpartition("/")[2]),
            _after(run.start_ms, origin),
            _after(run.stop_ms, origin),
            "yes" if run.converged else "no",
        )
        for run in runs
    ]


def _after(time: float | None, origin: float) -> str:
    return numbers.NONE if time is None else f"{(time - origin) / 60_000:.4f}"
