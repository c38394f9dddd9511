"""`podium rcp lint`: faults of reference points, before a result is held against them."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from podium.compliance.rcp.points import references_for
from podium.compliance.report.json_text import json_text
from podium.compliance.report.render.text import plural
from podium.compliance.report.terminal import clean, wrap
from podium.compliance.scoring.render import numbers
from podium.rules.convergence.data import rounds_with_points
from podium.rules.finding import Profile

if TYPE_CHECKING:
    from podium.rules.convergence.data import Point
    from podium.rules.round import Round

SCHEMA = "podium.rcp-lint/1"

FAR = 6.0
"""A value farther from the median than this many usual distances is an outlier."""

Weight = Literal["error", "warning", "note"]

_RENAMED = {"optimizer": "opt_name", "epsilon": "opt_epsilon"}
"""Names that points use for keys of the log."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one point, or with the points of a benchmark as a whole."""

    id: str
    severity: Weight
    benchmark: str
    point: str
    message: str
    hint: str = ""


def lint(rules: Round, points: Sequence[Point]) -> list[Fault]:
    """All faults of points of one round, by benchmark."""
    found: list[Fault] = []
    by_benchmark: dict[str, list[Point]] = {}
    for point in points:
        by_benchmark.setdefault(point.benchmark, []).append(point)
    for benchmark, some in by_benchmark.items():
        if benchmark not in rules.benchmarks and not rounds_with_points(rules.usage, benchmark):
            hint = f"must be one of {', '.join(rules.listed('closed'))}"
            said = f"{benchmark or 'an empty name'} is no benchmark of {rules.title}"
            found += [Fault("rcp.benchmark", "error", benchmark, some[0].id, said, hint)]
            continue
        found += _of_benchmark(rules, benchmark, some)
    return found


def _of_benchmark(rules: Round, benchmark: str, points: list[Point]) -> Iterator[Fault]:
    yield from _duplicates(benchmark, points)
    for point in points:
        yield from _values(rules, benchmark, point)
        yield from _unit(rules, benchmark, point)
        yield from _settings(rules, benchmark, point)
    yield from _pruning(rules, benchmark, points)


def _duplicates(benchmark: str, points: list[Point]) -> Iterator[Fault]:
    for name, count in Counter(point.id for point in points).items():
        if count > 1:
            said = f"{count} points are called {name}"
            yield Fault("rcp.duplicate-id", "error", benchmark, name, said, "name each once")
    sizes: dict[float, str] = {}
    values: dict[tuple[float, ...], str] = {}
    for point in points:
        first = sizes.setdefault(point.batch_size, point.id)
        if first != point.id:
            size = numbers.count(point.batch_size)
            said = f"batch size {size} has a point already: {first}"
            hint = "join their runs, or keep the one that converges sooner"
            yield Fault("rcp.duplicate-batch-size", "error", benchmark, point.id, said, hint)
        same = values.setdefault(tuple(sorted(point.to_converge)), point.id)
        if same != point.id and len(set(point.to_converge)) > 2:
            said = f"it has the very values of {same}"
            hint = "give the values of its own runs"
            yield Fault("rcp.copied-values", "warning", benchmark, point.id, said, hint)


def _values(rules: Round, benchmark: str, point: Point) -> Iterator[Fault]:
    known = rules.benchmark(benchmark)
    needed, drop, given = 2 * known.runs, known.dropped, len(point.to_converge)
    if given <= 2 * drop:
        said = f"{given} runs leave none once {drop} at each end are dropped"
        hint = f"add {needed - given} runs"
        yield Fault("rcp.too-few-runs", "error", benchmark, point.id, said, hint)
    elif given < needed:
        said = f"it has {given} runs; a reference needs {needed}, twice those of a result"
        hint = f"add {needed - given} runs"
        yield Fault("rcp.too-few-runs", "warning", benchmark, point.id, said, hint)
    middle = statistics.median(point.to_converge)
    distance = statistics.median(abs(value - middle) for value in point.to_converge)
    limit = max(FAR * 1.4826 * distance, 0.5 * middle)
    far = [value for value in point.to_converge if abs(value - middle) > limit]
    if far:
        said = f"{_few(far)}: far from the median {middle:g}"
        hint = "look at the logs of those runs"
        yield Fault("rcp.outlier", "warning", benchmark, point.id, said, hint)
    if point.batch_size != int(point.batch_size):
        said = f"its batch size {point.batch_size:g} is no whole number"
        yield Fault("rcp.batch-size", "error", benchmark, point.id, said, "")


def _few(values: Sequence[float]) -> str:
    more = f" and {len(values) - 4} more" if len(values) > 4 else ""
    return ", ".join(numbers.count(value) for value in values[:4]) + more


def _unit(rules: Round, benchmark: str, point: Point) -> Iterator[Fault]:
    unit = rules.benchmark(benchmark).convergence.unit
    if point.unit == "samples" and unit == "epochs":
        said = f"it counts samples; {benchmark} logs epochs in {rules.title}"
        hint = "give epochs, as logs do"
        yield Fault("rcp.unit", "error", benchmark, point.id, said, hint)
        return
    middle = statistics.median(point.to_converge)
    if unit == "samples" and middle < point.batch_size:
        said = f"it converges after {middle:g} {unit}, less than one batch"
        hint = "give samples, as logs do"
        yield Fault("rcp.unit", "error", benchmark, point.id, said, hint)
    elif unit == "epochs" and middle > 10_000:
        said = f"it converges after {middle:g} {unit}: samples or steps, it seems"
        yield Fault("rcp.unit", "error", benchmark, point.id, said, "give epochs, as logs do")


def _settings(rules: Round, benchmark: str, point: Point) -> Iterator[Fault]:
    """Hyperparameters that the round's closed division does not allow."""
    from podium.compliance.rulebook.hyper import settings

    if benchmark not in rules.benchmarks or not point.hyperparameters:
        return
    size = int(point.batch_size) if point.batch_size == int(point.batch_size) else point.batch_size
    given: dict[str, Any] = {"global_batch_size": size}
    for name, value in point.hyperparameters.items():
        given.setdefault(_RENAMED.get(name, name), value)
    for one in settings(rules, benchmark, "closed", given):
        if one.state == "wrong" and not _nearly(rules, benchmark, given, one.key):
            said = f"{one.key} is {one.value!r}; the rules of {rules.title} want {one.allowed}"
            hint = f"see `podium rules explain {one.rule}`"
            yield Fault("rcp.hyperparameter", "warning", benchmark, point.id, said, hint)


def _nearly(rules: Round, benchmark: str, given: Mapping[str, Any], key: str) -> bool:
    """Whether a value is the one that the rules want, but for the last digits."""
    from podium.compliance.rulebook.hyper import settings

    others = {name: value for name, value in given.items() if name != key}
    wanted = next(s.value for s in settings(rules, benchmark, "closed", others) if s.key == key)
    try:
        return math.isclose(wanted, given[key], rel_tol=1e-6)
    except TypeError:
        return False


def _pruning(rules: Round, benchmark: str, points: list[Point]) -> Iterator[Fault]:
    drop = rules.benchmark(benchmark).dropped
    usable = [point for point in points if len(point.to_converge) > 2 * drop]
    if not usable:
        return
    ways = {p: references_for(p, rules, benchmark, usable) for p in Profile}
    used = {p: {one.ids[0] for one in ways[p].used} for p in Profile}
    for one in ways[Profile.POLICY].every:
        name = one.ids[0]
        if all(name not in used[p] for p in Profile):
            said = "it is slower than the line between two others: no result is held against it"
            yield Fault("rcp.unused", "note", benchmark, name, said)
        elif name not in used[Profile.POLICY]:
            said = "the official verifier's pruning keeps it, though two others undercut it"
            yield Fault("rcp.pruning-differs", "note", benchmark, name, said)
        elif name not in used[Profile.VERIFIER]:
            said = "the official verifier's pruning drops it, though no two others undercut it"
            yield Fault("rcp.pruning-differs", "note", benchmark, name, said)
    for one in ways[Profile.POLICY].every:
        if one.deviation == 0:
            said = "its runs do not differ: any mean below theirs fails"
            yield Fault("rcp.no-spread", "note", benchmark, one.ids[0], said)
        elif not math.isfinite(one.maximum_speedup):
            said = "its runs differ so much that any mean passes"
            yield Fault("rcp.no-minimum", "warning", benchmark, one.ids[0], said)


# --- as text and JSON -----------------------------------------------------------------------------


def lint_text(faults: Sequence[Fault], points: int, width: int, *, quiet: bool = False) -> str:
    """The faults by benchmark; `quiet` leaves out notes."""
    lines: list[str] = []
    for fault in faults:
        if quiet and fault.severity == "note":
            continue
        where = f"{fault.severity:<9}{fault.benchmark} {fault.point}"
        lines += wrap(clean(where), width, "", " " * 9)
        lines += wrap(clean(f"[{fault.id}] {fault.message}"), width, " " * 9, " " * 9)
        if fault.hint:
            lines += wrap(clean(f"mend: {fault.hint}"), width, " " * 9, " " * 11)
    counted = Counter(fault.severity for fault in faults)
    told = ", ".join(plural(counted[name], name) for name in ("error", "warning", "note"))
    lines += [""] * bool(lines)
    lines.append(f"{plural(points, 'point')}: {told}")
    return "\n".join(lines) + "\n"


def lint_json(faults: Sequence[Fault], points: int) -> str:
    """The faults as data."""
    document = {"schema": SCHEMA, "points": points, "faults": [asdict(one) for one in faults]}
    return json_text(document)
