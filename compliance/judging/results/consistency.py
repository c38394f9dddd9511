"""The check that the runs of a result are independent repetitions of one experiment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from podium.compliance.judging.inputs.source_files import open_plain
from podium.compliance.judging.logs.facts import NO_SETTINGS, Settings
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
        folder, rules = verdict.folder.benchmark, context.rules
        known = facts.benchmark in (*rules.allowed, *rules.benchmarks, *rules.aliases)
        advice = f"set submission_benchmark to {folder}"
        yield OTHER_BENCHMARK.found(
            context.profile,
            run.display_path,
            line=line_of(run.path, "submission_benchmark"),
            key="submission_benchmark",
            logged=facts.benchmark,
            benchmark=folder,
            severity=Severity.ERROR if not known or _sizes_fail(verdict) else None,
            advice=f"move the log to its benchmark's folder, or {advice}" if known else advice,
        )
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


def _sizes_fail(verdict: ResultVerdict) -> bool:
    """Whether runs with several batch sizes fail the test of convergence."""
    settings = [run.facts.settings.as_dict() for run in verdict.result.runs]
    sizes = {canonical_text(each.get(GLOBAL_BATCH_SIZE.name)) for each in settings}
    return len(sizes) > 1 and verdict.result.convergence.verdict == "fail"


def contradicts(logged: str | None, described: str) -> bool:
    """Whether a log has another division than its description; the case of letters is ignored."""
    return bool(logged and described and logged.strip().casefold() != described)


def _settings(verdict: ResultVerdict, path: str, context: JudgingContext) -> Iterator[Finding]:
    runs = verdict.result.runs
    settings = [run.facts.settings for run in runs]
    if _are_the_same(settings):
        return
    given: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run, each in zip(runs, settings, strict=True):
        for key, value in each.as_dict().items():
            given[key][canonical_text(value)].append(run)
    for key, by_value in sorted(given.items()):
        if len(by_value) > 1:
            found = _mixed(key, by_value, path, context)
            if key == GLOBAL_BATCH_SIZE.name and _sizes_fail(verdict):
                found = replace(found, severity=Severity.ERROR)
            yield found


def _mixed(key: str, by_value: dict[str, list[Run]], path: str, context: JudgingContext) -> Finding:
    """The finding about a setting that differs, at the one deviating log if there is only one."""
    *odd, most = sorted(by_value.items(), key=lambda each: len(each[1]))
    alone = [run for _, runs in odd for run in runs]
    places = {run.name: line_of(run.path, key) for run in alone[:_MOST_NAMED]}
    parts = [f"{shortened(value)} in {_named(runs, places)}" for value, runs in odd[:_MOST_NAMED]]
    if len(odd) > _MOST_NAMED:
        parts.append(f"{len(odd) - _MOST_NAMED} other values")
    # With two runs, neither deviates from the other
    single = len(alone) == 1 and len(most[1]) > 1
    others = f"the {len(most[1])} others" if single else _named(most[1], {})
    found = MIXED_SETTINGS.found(
        context.profile,
        alone[0].display_path if single else path,
        line=places[alone[0].name] if single else None,
        key=key,
        setting=key,
        values="; ".join([*parts, f"{shortened(most[0])} in {others}"]),
    )
    # A value that violates a rule is reported with its log
    fault = alone[0].fault
    return replace(found, caused_by=fault) if single and fault.endswith(f".{key}") else found


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
    for read in (_beginning, read_log):
        for line, record in read(path).all_records():
            if record.key == key:
                return line
    return None


def _beginning(path: Path) -> Log:
    try:
        with open_plain(path) as stream:
            return parse_log(stream.read(HEAD))
    except OSError:
        return Log()


def _are_the_same(settings: list[Settings]) -> bool:
    """Whether all settings are equal and written in the same way, as in nearly all results."""
    first, *others = settings or [NO_SETTINGS]
    kinds = first.kinds()
    return all(
        each.values == first.values and each.keys == first.keys and each.kinds() == kinds
        for each in others
    )


def canonical_text(value: Any) -> str:
    """One spelling of equal values: 8, 8.0 and "8" are one setting."""
    number = None if isinstance(value, bool) else as_number(value)
    return repr(value) if number is None else f"{number:.15g}"


def shortened(text: str, most: int = 60) -> str:
    """A canonical text, shortened for a message; comparisons use the whole text."""
    if text == "None":
        return "null"
    return text if len(text) <= most else f"{text[: most - 3]}..."


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
    usual = max(versions, key=lambda version: len(versions[version]))
    most, there = len(versions[usual]), dict(zip(*usual, strict=True))
    for version, runs in versions.items():
        here = {key: at for key, at in zip(*version, strict=True) if at and there.get(key)}
        moved = [key for key, at in here.items() if at != there[key]]
        if len(moved) < _LEAST_MOVED:
            continue
        yield OTHER_CODE.found(
            context.profile,
            runs[0].display_path,
            key=moved[0],
            setting=moved[0],
            count=len(moved),
            total=len(here),
            most=f"{most} other run{'s' * (most > 1)}",
            here=here[moved[0]],
            there=there[moved[0]],
            alike=f"; same in {len(runs) - 1} more" if len(runs) > 1 else "",
        )
