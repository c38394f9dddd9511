"""The check that the runs of a result are independent repetitions of one experiment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from podium.compliance.judging.inputs.source_files import open_plain
from podium.compliance.judging.logs.facts import NO_SETTINGS
from podium.compliance.judging.results.model import ResultVerdict
from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.judging.results.result import Result, Run
from podium.compliance.judging.results.rules.consistency_rules import (
    MIXED_SETTINGS,
    OTHER_BENCHMARK,
    OTHER_CODE,
    OTHER_DIVISION,
)
from podium.compliance.text.words import join_limited
from podium.logging_spec.keys import GLOBAL_BATCH_SIZE
from podium.logging_spec.reader.log import HEAD, Log
from podium.logging_spec.reader.read import parse_log, read_log
from podium.rules.finding import Finding, Severity
from podium.rules.run import as_number

_LEAST_MOVED = 2
"""A single setting may be logged at another line by another branch of the same code."""


def one_kind(verdict: ResultVerdict, path: str, context: JudgingContext) -> Iterator[Finding]:
    """Findings about runs of a result with other benchmarks, divisions, settings or code."""
    folder = verdict.folder
    # In 0.6 a folder may have the name mask for maskrcnn, and its logs have the same name
    names = (None, "", folder.benchmark, folder.path.rpartition("/")[2])
    for run in verdict.result.runs:
        facts = run.facts.run
        if facts.benchmark not in names or facts.division != verdict.result.described_division:
            yield from _as_its_folder(verdict, run, context, names)
    yield from _settings(verdict, path, context)
    yield from _code(verdict.result, context)


def _as_its_folder(
    verdict: ResultVerdict, run: Run, context: JudgingContext, names: Sequence[str | None]
) -> Iterator[Finding]:
    facts, division = run.facts.run, verdict.result.described_division
    if facts.benchmark not in names:
        yield _of_other_benchmark(verdict, run, context)
    if contradicts(facts.division, division):
        yield OTHER_DIVISION.found(
            context.profile,
            run.display_path,
            line=line_of(run.path, "submission_division"),
            key="submission_division",
            severity=None if context.rules.package.one_division else Severity.WARNING,
            logged=facts.division,
            described=division,
        )


def _of_other_benchmark(verdict: ResultVerdict, run: Run, context: JudgingContext) -> Finding:
    """The finding about a log that names another benchmark than its folder."""
    logged, folder, rules = run.facts.run.benchmark, verdict.folder.benchmark, context.rules
    is_listed = logged in (*rules.allowed, *rules.benchmarks, *rules.aliases)
    # If the log violates the rules of the benchmark that it names, it is probably of its folder's
    has_wrong_name = not is_listed or (verdict.failing(run) and not run.facts.missed_only)
    steps = [f"set submission_benchmark to {folder}"]
    if is_listed:
        steps.insert(has_wrong_name, "move the log to its benchmark's folder")
    return OTHER_BENCHMARK.found(
        context.profile,
        run.display_path,
        line=line_of(run.path, "submission_benchmark"),
        key="submission_benchmark",
        logged=logged,
        benchmark=folder,
        severity=None if has_wrong_name or _sizes_fail(verdict) else Severity.WARNING,
        advice=", or ".join(steps),
    )


def _sizes_fail(verdict: ResultVerdict) -> bool:
    """Whether runs with several batch sizes fail the test of convergence."""
    settings = [run.facts.settings.as_dict() for run in verdict.result.runs]
    sizes = {canonical_text(run_settings.get(GLOBAL_BATCH_SIZE.name)) for run_settings in settings}
    return len(sizes) > 1 and verdict.result.convergence.verdict == "fail"


def contradicts(logged: str | None, described: str) -> bool:
    """Whether a log has another division than its description; the case of letters is ignored."""
    return bool(logged and described and logged.strip().casefold() != described)


def _settings(verdict: ResultVerdict, path: str, context: JudgingContext) -> Iterator[Finding]:
    runs = verdict.result.runs
    settings = [run.facts.settings for run in runs]
    # As in nearly all results. 8 and 8.0 are equal, but of different types
    first, *others = settings or [NO_SETTINGS]
    kinds = [*map(type, first.values)]
    if all(item == first and [*map(type, item.values)] == kinds for item in others):
        return
    runs_by_value: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run, run_settings in zip(runs, settings, strict=True):
        for key, value in run_settings.as_dict().items():
            runs_by_value[key][canonical_text(value)].append(run)
    for key, by_value in sorted(runs_by_value.items()):
        if len(by_value) > 1:
            finding = _mixed(key, by_value, path, context)
            if key == GLOBAL_BATCH_SIZE.name and _sizes_fail(verdict):
                finding = replace(finding, severity=Severity.ERROR)
            yield finding


def _mixed(key: str, by_value: dict[str, list[Run]], path: str, context: JudgingContext) -> Finding:
    """The finding about a setting that differs, at the one deviating log if there is only one."""
    *others, majority = sorted(by_value.items(), key=lambda item: len(item[1]))
    other_runs = [run for _, runs in others for run in runs]
    lines = {run.name: line_of(run.path, key) for run in other_runs[:_MOST_NAMED]}
    parts = [f"{shortened(value)} in {_named(runs, lines)}" for value, runs in others[:_MOST_NAMED]]
    if len(others) > _MOST_NAMED:
        parts.append(f"{len(others) - _MOST_NAMED} other values")
    # With two runs, neither deviates from the other
    is_single = len(other_runs) == 1 and len(majority[1]) > 1
    majority_text = f"the {len(majority[1])} others" if is_single else _named(majority[1], {})
    finding = MIXED_SETTINGS.found(
        context.profile,
        other_runs[0].display_path if is_single else path,
        line=lines[other_runs[0].name] if is_single else None,
        key=key,
        setting=key,
        values="; ".join([*parts, f"{shortened(majority[0])} in {majority_text}"]),
    )
    # A value that violates a rule is reported with its log
    fault = other_runs[0].fault
    return replace(finding, caused_by=fault) if is_single and fault.endswith(f".{key}") else finding


_MOST_NAMED = 3
"""Number of runs, and of values, that a message names; further ones are counted."""


def _named(runs: Sequence[Run], lines: Mapping[str, int | None]) -> str:
    names = [
        run.name if lines.get(run.name) is None else f"{run.name}:{lines[run.name]}" for run in runs
    ]
    return join_limited(names, _MOST_NAMED)


def line_of(path: Path, key: str) -> int | None:
    """The first line of a log with a key; the log is read again, because few results need it."""
    # In a long log, the declarations of a run are at the beginning
    for reader in (_beginning, read_log):
        for line, record in reader(path).all_records():
            if record.key == key:
                return line
    return None


def _beginning(path: Path) -> Log:
    try:
        with open_plain(path) as stream:
            return parse_log(stream.read(HEAD))
    except OSError:
        return Log()


def canonical_text(value: Any) -> str:
    """One spelling of equal values: 8, 8.0 and "8" are one setting."""
    number = None if isinstance(value, bool) else as_number(value)
    return repr(value) if number is None else f"{number:.15g}"


def shortened(text: str, limit: int = 60) -> str:
    """A canonical text, shortened for a message; comparisons use the whole text."""
    if text == "None":
        return "null"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _code(result: Result, context: JudgingContext) -> Iterator[Finding]:
    """Findings about runs whose settings are logged at other lines; one for each version.

    Logs do not name the version of the code. But a record has the source line that logged it, and
    any change above the line moves it.
    """
    versions: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Run]] = {}
    for run in result.runs:
        facts = run.facts
        versions.setdefault((facts.settings.keys, facts.logged_at), []).append(run)
    if len(versions) < 2:
        return
    # If several versions have the most runs, the first of them is the reference
    usual_version = max(versions, key=lambda version: len(versions[version]))
    usual_count, usual_lines = len(versions[usual_version]), dict(zip(*usual_version, strict=True))
    for version, runs in versions.items():
        lines = {
            key: line for key, line in zip(*version, strict=True) if line and usual_lines.get(key)
        }
        moved = [key for key, line in lines.items() if line != usual_lines[key]]
        if len(moved) < _LEAST_MOVED:
            continue
        yield OTHER_CODE.found(
            context.profile,
            runs[0].display_path,
            key=moved[0],
            setting=moved[0],
            count=len(moved),
            total=len(lines),
            most=f"{usual_count} other run{'s' * (usual_count > 1)}",
            here=lines[moved[0]],
            there=usual_lines[moved[0]],
            alike=f"; same in {len(runs) - 1} more" if len(runs) > 1 else "",
        )
