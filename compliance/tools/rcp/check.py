"""`podium rcp check`: compare a result with the reference points, with all arithmetic."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from podium.compliance.errors import NothingToJudge
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import judge_paths
from podium.compliance.judging.results.convergence import compared, references
from podium.compliance.reporting.json_text import json_text
from podium.compliance.text.terminal import clean, wrap
from podium.compliance.text.words import join_limited
from podium.compliance.tools.rcp.plots import Curve, chart, check_plot, curve_of, write_plot
from podium.compliance.tools.scoring.render import numbers
from podium.compliance.tools.scoring.render.numbers import figure
from podium.compliance.tools.scoring.render.table import table
from podium.compliance.tools.scoring.render.text import heading_of
from podium.compliance.tools.scoring.session import scored_results
from podium.compliance.tools.scoring.uncounted import uncounted_logs
from podium.logging_spec.reader.read import read_log
from podium.rules.checks.points import OUTCOMES, members_for, position
from podium.rules.convergence.result import Convergence
from podium.rules.finding import Profile

if TYPE_CHECKING:
    from podium.compliance.tools.scoring.row import ScoredResult
    from podium.rules.convergence.data import Point

SCHEMA = "podium.rcp-check/1"


@dataclass(frozen=True, slots=True)
class Checked:
    """One result's convergence; `interval` is the training between two evaluations."""

    scored: ScoredResult
    convergence: Convergence
    interval: float | None
    curve: Curve | None

    @property
    def evaluations(self) -> float | None:
        """The margin in evaluations."""
        margin = self.convergence.margin
        return margin / self.interval if margin is not None and self.interval else None

    @property
    def samples(self) -> float | None:
        """The margin in samples, if the unit counts samples."""
        return self.convergence.margin if self.convergence.unit == "samples" else None

    @property
    def failed(self) -> bool:
        """Whether the result fails."""
        return self.convergence.verdict in ("fail", "missing")


def check(folder: Path, options: Options, points: Sequence[Point] | None) -> list[Checked]:
    """Judge every result below a folder; by the policy, also where the verifier differs.

    Raises NothingToJudge if the folder has no results.
    """
    files = judge_paths([folder], options)
    uncounted = {log.path: log.message for log in uncounted_logs(files.inputs, options)}
    results = scored_results(files, options, points)
    if not results:
        reason = "; ".join(uncounted.values()) or "no log is in the folder of a result"
        raise NothingToJudge(f"nothing to compare in {folder}: {reason}")
    verified: dict[tuple[str, str], ScoredResult] = {}
    # Judged again from the logs: the profiles differ in reading them, not only in the statistics
    if options.profile is Profile.POLICY:
        other = replace(options, profile=Profile.VERIFIER)
        for result in scored_results(judge_paths([folder], other), other, points):
            verified[_key(result)] = result
    return [_checked(result, verified.get(_key(result)), options, uncounted) for result in results]


def _key(scored: ScoredResult) -> tuple[str, str]:
    location = scored.result.place
    return location.display_path, location.benchmark


def _checked(
    scored: ScoredResult,
    verified: ScoredResult | None,
    options: Options,
    uncounted: Mapping[str, str],
) -> Checked:
    judged = scored.result.convergence
    if verified is not None:
        judged = compared(judged, verified.result.convergence)
    missing = uncounted.get(scored.result.place.display_path, "")
    messages = filter(None, (missing, *judged.messages, _left_out(scored)))
    judged = replace(judged, messages=tuple(messages))
    return Checked(scored, judged, _interval(scored), _curve(scored, judged, options))


def _left_out(scored: ScoredResult) -> str:
    """The surplus runs that do not count, and why; empty if all count."""
    result = scored.result
    runs = scored.entry.run_list
    used = [os.path.basename(run.path) for run in runs if run.role != "outside"]
    unused = [os.path.basename(run.path) for run in runs if run.role == "outside"]
    if result.weak or not unused:
        return ""
    selection = (
        "the first to converge count"
        if result.rules.benchmark(result.place.benchmark).first_converging
        else f"the window of {len(used)} consecutive launches with the median score counts"
    )
    return (
        f"{len(runs)} runs, {len(used)} needed: {selection} ({join_limited(used, 12)}); "
        f"not used: {join_limited(unused, 12)}"
    )


def _interval(scored: ScoredResult) -> float | None:
    """The usual distance between evaluations in the first log, in the unit of convergence."""
    names = members_for(scored.entry.unit)
    positions: list[float] = []
    log = read_log(scored.result.runs[0].path)
    # With lenient reading, because 0.5 and 0.6 have few strict records
    for _, record in log.all_records():
        # HPC's cosmoflow and oc20 log eval_error
        if record.key not in OUTCOMES:
            continue
        progress = position(record, names)
        if progress is not None:
            positions.append(progress[1])
    # Some logs repeat each line, and checkpoints may be evaluated offline in any order
    gaps = [high - low for low, high in pairwise(sorted(positions)) if high > low]
    # Not every schedule is regular: ssd in 1.0 had epochs 40, 50, 55 and 60
    return statistics.median(gaps) if gaps else None


def _curve(
    scored: ScoredResult,
    judged: Convergence,
    options: Options,
) -> Curve | None:
    if judged.batch_size is None or judged.mean is None:
        return None
    rules, benchmark = scored.result.rules, scored.result.place.benchmark
    own_points = scored.result.own_points
    reference = references(options.profile, rules, benchmark, own_points)
    size = judged.batch_size
    runs = [(size, p.to_converge) for p in judged.runs if p.converged and p.to_converge is not None]
    mean = None if judged.submission is None else (size, judged.submission)
    # With too many unfinished runs the mean is infinite
    if mean is not None and not math.isfinite(mean[1]):
        mean = None
    title = f"{scored.result.place.submitter} {scored.result.place.system} {benchmark}".strip()
    return curve_of(reference, judged.unit, title, runs=runs, mean=mean)


def draw(results: Sequence[Checked], plot: Path | None) -> None:
    """Draw the compared results into a file; without results, only check that this is possible."""
    if plot is None:
        return
    curves = [result.curve for result in results if result.curve is not None]
    if curves:
        write_plot(curves, plot)
    else:
        check_plot(plot)


# --- as text --------------------------------------------------------------------------------------

_CASES = {
    "found": "a reference was run at this batch size",
    "interpolated": "interpolated between two reference points",
    "below_range": "below every reference point: compared with the smallest",
    "above_range": "above every reference point",
    "none": "no reference point",
}


def check_text(results: Sequence[Checked], width: int, *, quiet: bool = False) -> str:
    """All results in sequence; `quiet` omits the runs and the plot."""
    blocks = ["\n".join(_block(result, width, quiet=quiet)) for result in results]
    return "\n\n".join(blocks) + "\n"


def _block(result: Checked, width: int, *, quiet: bool) -> Iterator[str]:
    judged, scored = result.convergence, result.scored
    head = f"{heading_of(scored.entry, several=True)}: {clean(scored.result.place.benchmark)}"
    yield from wrap(f"{judged.verdict.upper().replace('_', ' ')}  {head}", width, "", "      ")
    for message in judged.messages:
        yield from wrap(clean(message), width, "  ", "  ")
    if judged.batch_size is not None:
        label = _CASES[judged.case] if judged.case != "none" else "not compared"
        yield from wrap(
            f"global batch size {numbers.count(judged.batch_size)}: {label}", width, "  ", "    "
        )
    if judged.mean is None or judged.minimum is None:
        return
    yield ""
    yield from _points(judged, width)
    yield ""
    yield from _figures(result)
    if quiet:
        return
    yield ""
    rows = [
        (
            clean(run.name.rpartition("/")[2]),
            str(run.rank),
            numbers.count(run.to_converge) if run.converged else "none",
            {"scored": "", "fastest": "dropped as fastest", "slowest": "dropped as slowest"}[
                run.role
            ],
        )
        for run in judged.runs
    ]
    yield from _indented(table(("run", "place", judged.unit, "part"), rows, width - 2, (0, 3)))
    if result.curve is not None:
        yield ""
        yield from _indented(chart(result.curve, width - 2))


def _indented(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"  {line}".rstrip() for line in lines)


def _points(judged: Convergence, width: int) -> Iterator[str]:
    heads = ("point", "batch size", "values", "mean", "deviation", "minimum")
    rows = [
        (
            clean(" and ".join(point.ids)),
            numbers.count(point.batch_size),
            str(point.count),
            figure(point.mean),
            figure(point.deviation),
            figure(point.minimum),
        )
        for point in judged.points
    ]
    yield from _indented(table(heads, rows, width - 2))
    if judged.pruned:
        sizes = ", ".join(numbers.count(point.batch_size) for point in judged.pruned)
        text = f"pruned, because slower than the line between two others: batch size {sizes}"
        yield from wrap(text, width, "  ", "    ")


def _figures(result: Checked) -> Iterator[str]:
    judged = result.convergence
    assert judged.mean is not None
    assert judged.minimum is not None
    unit = judged.unit
    yield f"  reference mean   {figure(judged.mean)} {unit}"
    yield f"  minimum          {figure(judged.minimum)}"
    if judged.allowance:
        yield f"  (includes        {figure(judged.allowance)} {unit}: one evaluation)"
    if judged.submission is None or judged.margin is None:
        return
    # The official verifier uses 1e9 for a run that did not converge: such a mean is meaningless
    never = not math.isfinite(judged.submission)
    never = never or any(run.role == "scored" and not run.converged for run in judged.runs)
    yield f"  mean of runs     {'none' if never else figure(judged.submission)}"
    evaluations = result.evaluations
    fields = "" if evaluations is None else f", {evaluations:+.2f} evaluations"
    yield f"  margin           {'+' if judged.margin >= 0 else ''}{figure(judged.margin)}{fields}"
    if judged.verdict == "pass":
        yield f"  scaling factor   {judged.scaling_factor:.9g}"


# --- as JSON --------------------------------------------------------------------------------------


def check_json(results: Sequence[Checked]) -> str:
    """All values as JSON; non-finite numbers are strings."""
    document = {"schema": SCHEMA, "results": [_member(result) for result in results]}
    return json_text(document)


def _member(result: Checked) -> dict[str, Any]:
    entry, judged = result.scored.entry, result.convergence
    names = ("path", "submitter", "system", "benchmark", "division", "scaling", "round")
    member = {name: getattr(entry, name) for name in names}
    fields = msgspec.to_builtins(judged)
    fields["margin"], fields["maximum_speedup"] = judged.margin, judged.maximum_speedup
    margins = {"evaluation_interval": result.interval, "margin_in_evaluations": result.evaluations}
    return {**member, **fields, **margins}
