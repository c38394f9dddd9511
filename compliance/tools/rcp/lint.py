"""`podium rcp lint`: find faults of reference points before results are compared with them.

A finding's path is the benchmark, its key the point.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from podium.compliance.judging.results.convergence import references
from podium.compliance.reporting.json_text import json_text
from podium.compliance.rulebook.tables.settings import settings
from podium.compliance.text.terminal import clean, wrap
from podium.compliance.text.words import join_limited, plural
from podium.compliance.tools.rcp.rcp_rules import (
    BATCH_SIZE,
    BENCHMARK,
    COPIED_VALUES,
    DUPLICATE_BATCH_SIZE,
    DUPLICATE_ID,
    HYPERPARAMETER,
    NO_MINIMUM,
    NO_PRECISION,
    NO_SPREAD,
    OUTLIER,
    PRECISION,
    PRUNING_DIFFERS,
    TOO_FEW_RUNS,
    UNIT,
    UNUSED,
)
from podium.compliance.tools.scoring.render import numbers
from podium.rules.convergence.data import rounds_with_points
from podium.rules.convergence.spread import MAD_TO_DEVIATION
from podium.rules.finding import Finding, Profile, Severity

if TYPE_CHECKING:
    from podium.rules.convergence.data import Point
    from podium.rules.fixed.fixed_rule import FixedRule
    from podium.rules.model.round import Round

SCHEMA = "podium.rcp-lint/1"

FAR = 6.0
"""A value that is this many usual distances from the median is an outlier."""

_FORMAT = re.compile(r"(?:MX|NV)?(?:BFLOAT|FLOAT|UINT|INT|BF|FP|TF)\d+")
"""Names of number formats in capitals, such as BF16, up to the last digit."""

_SPELLED = {"FLOAT32": "FP32", "BFLOAT16": "BF16", "FLOAT16": "FP16", "FLOAT64": "FP64"}

_RENAMED = {"optimizer": "opt_name", "epsilon": "opt_epsilon"}
"""Names in points that differ from keys of the log."""


def lint(rules: Round, points: Sequence[Point]) -> list[Finding]:
    """All findings about points of one round, by benchmark."""
    findings: list[Finding] = []
    by_benchmark: dict[str, list[Point]] = {}
    for point in points:
        by_benchmark.setdefault(point.benchmark, []).append(point)
    for benchmark, benchmark_points in by_benchmark.items():
        if benchmark not in rules.benchmarks and not rounds_with_points(rules.usage, benchmark):
            name, listed = benchmark or "an empty name", ", ".join(rules.listed)
            findings.append(
                _found(BENCHMARK, benchmark_points[0], name=name, title=rules.title, listed=listed)
            )
            continue
        findings += _of_benchmark(rules, benchmark, benchmark_points)
    return findings


def _found(rule: FixedRule, point: Point, **fields: Any) -> Finding:
    return rule.found(Profile.POLICY, point.benchmark, key=point.id, **fields)


def _of_benchmark(rules: Round, benchmark: str, points: list[Point]) -> Iterator[Finding]:
    yield from _duplicates(points)
    for point in points:
        yield from _values(rules, point)
        yield from _unit(rules, point)
        yield from _settings(rules, point)
        yield from _precision(rules, point)
    yield from _pruning(rules, benchmark, points)


def _duplicates(points: list[Point]) -> Iterator[Finding]:
    points_by_id = {point.id: point for point in points}
    for name, count in Counter(point.id for point in points).items():
        if count > 1:
            yield _found(DUPLICATE_ID, points_by_id[name], count=count, name=name)
    sizes: dict[float, str] = {}
    values: dict[tuple[float, ...], str] = {}
    for point in points:
        first = sizes.setdefault(point.batch_size, point.id)
        if first != point.id:
            size = numbers.count(point.batch_size)
            yield _found(DUPLICATE_BATCH_SIZE, point, size=size, first=first)
        same = values.setdefault(tuple(sorted(point.to_converge)), point.id)
        # Epochs are small whole numbers: points with little variation may agree by chance
        if same != point.id and len(set(point.to_converge)) > 2:
            yield _found(COPIED_VALUES, point, first=same)


def _values(rules: Round, point: Point) -> Iterator[Finding]:
    yield from _run_count(rules, point)
    middle = statistics.median(point.to_converge)
    distance = statistics.median(abs(value - middle) for value in point.to_converge)
    # If most values are equal the distance is 0: half the median prevents outliers among their
    # neighbors
    limit = max(FAR * MAD_TO_DEVIATION * distance, 0.5 * middle)
    outliers = [numbers.count(n) for n in point.to_converge if abs(n - middle) > limit]
    if outliers:
        yield _found(OUTLIER, point, values=join_limited(outliers, 4), median=middle)
    if point.batch_size != int(point.batch_size):
        yield _found(BATCH_SIZE, point, size=point.batch_size)


def _run_count(rules: Round, point: Point) -> Iterator[Finding]:
    benchmark, count = rules.benchmark(point.benchmark), len(point.to_converge)
    needed, drop = 2 * benchmark.runs, benchmark.dropped
    if count >= needed:
        return
    none_left = count <= 2 * drop
    yield _found(
        TOO_FEW_RUNS,
        point,
        severity=Severity.ERROR if none_left else None,
        given=plural(count, "run"),
        needed=needed,
        missing=plural(needed - count, "run"),
        detail=f"; no run is left after {drop} at each end are dropped" if none_left else "",
    )


def _unit(rules: Round, point: Point) -> Iterator[Finding]:
    benchmark = point.benchmark
    unit = rules.benchmark(benchmark).convergence.unit
    middle = statistics.median(point.to_converge)
    problem = ""
    if point.unit == "samples" and unit == "epochs":
        problem = f"counts samples; {benchmark} logs epochs in {rules.title}"
    elif unit == "samples" and middle < point.batch_size:
        problem = f"converges after {middle:g} {unit}, less than one batch"
    # More than twice the epochs of any reference run: unet3d has up to 4472
    elif unit == "epochs" and middle > 10_000:
        problem = f"converges after {middle:g} {unit}, which seem to be samples or steps"
    if problem:
        yield _found(UNIT, point, problem=problem, unit=unit)


def _settings(rules: Round, point: Point) -> Iterator[Finding]:
    """Hyperparameters that the round's closed division does not allow."""
    benchmark = point.benchmark
    if benchmark not in rules.benchmarks or not point.hyperparameters:
        return
    size = int(point.batch_size) if point.batch_size == int(point.batch_size) else point.batch_size
    values: dict[str, Any] = {"global_batch_size": size}
    for name, value in point.hyperparameters.items():
        values.setdefault(_RENAMED.get(name, name), value)
    for setting in settings(rules, benchmark, "closed", values):
        if setting.state == "wrong" and not _nearly(rules, benchmark, values, setting.key):
            yield _found(
                HYPERPARAMETER,
                point,
                setting=setting.key,
                value=setting.value,
                title=rules.title,
                allowed=setting.allowed,
                bound=setting.rule,
            )


def _nearly(rules: Round, benchmark: str, values: Mapping[str, Any], key: str) -> bool:
    """Whether a value matches the rules except for the last digits."""
    others = {name: value for name, value in values.items() if name != key}
    expected = next(s.value for s in settings(rules, benchmark, "closed", others) if s.key == key)
    try:
        return math.isclose(expected, values[key], rel_tol=1e-6)
    # Names and lists have no digits to round
    except TypeError:
        return False


def _precision(rules: Round, point: Point) -> Iterator[Finding]:
    """Check the number format of the runs against the formats that the round accepts."""
    accepted = rules.package.point_precisions
    values = {"title": rules.title, "taken": " or ".join(accepted)}
    precision = point.precision or ""
    if not precision.strip():
        # With only one format there is nothing to report, and older records have no such member
        if len(accepted) > 1:
            yield _found(NO_PRECISION, point, **values)
        return
    formats = {_SPELLED.get(name, name) for name in _FORMAT.findall(precision.upper())}
    other = formats - {*accepted}
    # The method that emulates FP32 may be named, too
    if formats <= other or (other and "EMULAT" not in precision.upper()):
        yield _found(PRECISION, point, given=precision, **values)


def _pruning(rules: Round, benchmark: str, points: list[Point]) -> Iterator[Finding]:
    points_by_id = {point.id: point for point in points}
    # Not for points with too few values for a mean, which _run_count reports
    methods = {p: references(p, rules, benchmark, points) for p in Profile}
    used = {p: {reference.ids[0] for reference in methods[p].used} for p in Profile}
    for reference in methods[Profile.POLICY].every:
        name = reference.ids[0]
        if all(name not in used[p] for p in Profile):
            yield _found(UNUSED, points_by_id[name])
        elif name not in used[Profile.POLICY]:
            problem = "keeps it, although two others undercut it"
            yield _found(PRUNING_DIFFERS, points_by_id[name], problem=problem)
        elif name not in used[Profile.VERIFIER]:
            problem = "drops it, although no two others undercut it"
            yield _found(PRUNING_DIFFERS, points_by_id[name], problem=problem)
    for reference in methods[Profile.POLICY].every:
        if reference.deviation == 0:
            yield _found(NO_SPREAD, points_by_id[reference.ids[0]])
        elif not math.isfinite(reference.maximum_speedup):
            yield _found(NO_MINIMUM, points_by_id[reference.ids[0]])


# --- as text and JSON -----------------------------------------------------------------------------


def lint_text(findings: Sequence[Finding], points: int, width: int, *, quiet: bool = False) -> str:
    """The findings by benchmark; `quiet` omits notes."""
    lines: list[str] = []
    for finding in findings:
        if quiet and finding.severity is Severity.NOTE:
            continue
        head = f"{finding.severity:<9}{finding.path} {finding.key}"
        lines += wrap(clean(head), width, "", " " * 9)
        lines += wrap(clean(f"[{finding.id}] {finding.message}"), width, " " * 9, " " * 9)
        lines += wrap(clean(f"help: {finding.hint}"), width, " " * 9, " " * 11)
    counted = Counter(finding.severity for finding in findings)
    totals = ", ".join(plural(counted[severity], severity.value) for severity in Severity)
    lines += [""] * bool(lines)
    lines.append(f"{plural(points, 'point')}: {totals}")
    return "\n".join(lines) + "\n"


def lint_json(findings: Sequence[Finding], points: int) -> str:
    """The findings as data."""
    faults = [
        {
            "id": finding.id,
            "severity": finding.severity,
            "benchmark": finding.path,
            "point": finding.key,
            "message": finding.message,
            "hint": finding.hint,
        }
        for finding in findings
    ]
    return json_text({"schema": SCHEMA, "points": points, "faults": faults})
