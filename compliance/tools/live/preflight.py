"""Checks of declared hyperparameters before a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from podium.compliance.errors import UsageFault
from podium.compliance.reporting.console import print_text, width
from podium.compliance.reporting.json_text import json_text
from podium.compliance.rulebook.tables.settings import Setting, evaluations, settings
from podium.compliance.text.terminal import clean, wrap
from podium.compliance.tools.live.declaration import Declaration
from podium.compliance.tools.live.guard import Guard
from podium.compliance.tools.live.partial.declared import Expected, reference_at
from podium.logging_spec import keys as k
from podium.logging_spec.keys.near_misses import near_misses
from podium.logging_spec.reader.record import Record
from podium.rules.constraints.constraint import needs_of
from podium.rules.constraints.formula import show
from podium.rules.finding import Finding, Profile, Severity
from podium.rules.model.round import Round
from podium.rules.run import as_number

SCHEMA = "podium.preflight/1"

_DECLARED_LATER = ("disclosure", "statistic", "submission")
"""Roles of keys that a run logs but that are not hyperparameters."""


@dataclass(frozen=True, slots=True)
class Needed:
    """A required key that is not declared, and its allowed values."""

    key: str
    meaning: str
    allowed: str
    rule: str


@dataclass(slots=True)
class Preflight:
    """The judgement of declared hyperparameters."""

    rules: Round
    benchmark: str
    division: str
    findings: list[Finding] = field(default_factory=list)
    missing: list[Needed] = field(default_factory=list)
    to_log: list[Needed] = field(default_factory=list)
    free: dict[str, Any] = field(default_factory=dict)
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    reference: Expected = field(default_factory=Expected)
    ignored: list[str] = field(default_factory=list)

    @property
    def legal(self) -> bool:
        """Whether no declared value is an error and no hyperparameter is missing."""
        return not self.missing and all(f.severity is not Severity.ERROR for f in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The judgement as JSON data."""
        return {
            "schema": SCHEMA,
            "rules": {"usage": self.rules.usage, "round": self.rules.name},
            "benchmark": self.benchmark,
            "division": self.division,
            "verdict": "legal" if self.legal else "illegal",
            "findings": [msgspec.structs.asdict(finding) for finding in self.findings],
            "missing": [asdict(needed) for needed in self.missing],
            "to_log": [asdict(needed) for needed in self.to_log],
            "free": self.free,
            "evaluations": self.evaluations,
            "reference": asdict(self.reference),
            "ignored": self.ignored,
        }


def preflight(
    declared: Declaration,
    rules: Round,
    division: str | None = None,
    benchmark: str | None = None,
    batch_size: int | None = None,
    profile: Profile = Profile.POLICY,
    path: str = "",
) -> Preflight:
    """Judge the declaration; the options take precedence over it."""
    values = dict(declared.values)
    if batch_size is not None:
        values[k.GLOBAL_BATCH_SIZE.name] = batch_size
    division = division or _named(values, "submission_division") or "closed"
    name = benchmark or _named(values, "submission_benchmark")
    if not name:
        raise UsageFault("no benchmark is declared; use --benchmark")
    guard = Guard(rules, division, name, profile=profile, path=path, advises=False)
    _feed(guard, declared, values, division, name)
    result = Preflight(rules, name, division)
    result.findings = [*_findings(guard, declared)]
    result.evaluations = evaluations(rules, name, division, values)
    _sort_out(result, guard, settings(rules, name, division, values), values)
    result.findings += _misspelt(declared, [needed.key for needed in result.missing], path)
    batch = as_number(values.get(k.GLOBAL_BATCH_SIZE.name))
    result.reference = reference_at(rules, name, division, batch, profile)
    reported = {finding.key for finding in result.findings}
    result.ignored = [name for name in declared.others if name not in reported]
    return result


def _named(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


# --- violations ---


def _feed(
    guard: Guard, declared: Declaration, values: dict[str, Any], division: str, benchmark: str
) -> None:
    """Judge the declared values by the rules, in the order of a dry log if there is one."""
    names = {"submission_division": division, "submission_benchmark": benchmark}
    if not declared.records:
        # Names come first because rules depend on them, and last to override the declaration
        for key in _in_order(guard, names | values | names):
            guard(Record(key, 0.0, (values | names)[key], {}))
        return
    for key, value in names.items():
        if key not in values:
            guard(Record(key, 0.0, value, {}))
    original = guard.run.line_of
    before = len(guard.run.records)
    # The names added before a dry log have no lines in it
    lines = declared.lines
    guard.run.line_of = lambda index: lines[index - before] if index >= before else original(index)
    for record in declared.records:
        value = values[record.key] if record.key == k.GLOBAL_BATCH_SIZE.name else record.value
        guard(Record(record.key, record.time_ms, value, record.metadata))


def _in_order(guard: Guard, values: Mapping[str, Any]) -> list[str]:
    """The keys, each after those that its rules refer to: a mapping has no order."""
    ordered: dict[str, None] = {}

    # `above` breaks cycles of keys that refer to each other
    def add(key: str, above: tuple[str, ...]) -> None:
        for row in (row for scope in guard.scopes for row in scope.rows if row.name == key):
            for need in sorted(needs_of((*row.each, *(row.policy or ())))):
                if need in values and need not in ordered and need not in above:
                    add(need, (*above, key))
        ordered[key] = None

    for key in values:
        if key not in ordered:
            add(key, ())
    return [*ordered]


def _findings(guard: Guard, declared: Declaration) -> Iterator[Finding]:
    """The findings, except for bounds that depend on a missing key."""
    positions = guard.run.where
    for finding in guard.findings:
        rows = [row for scope in guard.scopes for row in scope.rows if row.name == finding.key]
        needs = needs_of(c for row in rows for c in (*row.each, *(row.policy or ())))
        # The official verifier fails a bound if its other key is absent, which may still come
        if finding.stated_by != "verifier" or needs <= positions.keys():
            # The records of a mapping are in podium's order, so users do not know their lines
            yield finding if declared.records else msgspec.structs.replace(finding, line=None)


def _misspelt(declared: Declaration, missing: Sequence[str], path: str) -> Iterator[Finding]:
    """The names that look like a key; names like a missing key also by their words."""
    for name, key in (near_misses(declared.others, missing) | declared.misspelt).items():
        if key not in declared.values:
            yield Finding(
                "log.misspelt-key",
                Severity.WARNING,
                path,
                None,
                name,
                f"the key is {name!r:.60}; did you mean {key}?",
                key,
                name,
                f"declare it as {key}",
            )


# --- further required keys ---


def _sort_out(
    result: Preflight, guard: Guard, settings: list[Setting], values: Mapping[str, Any]
) -> None:
    """Split required keys into hyperparameters and keys that are logged later."""
    allowed = {setting.key: _allowed(setting) for setting in settings}
    for entry in guard.missing():
        needed = Needed(entry.key, entry.meaning, allowed.get(entry.key, ""), entry.rule)
        if entry.role == "hyperparameter":
            result.missing.append(needed)
        elif entry.role in _DECLARED_LATER:
            result.to_log.append(needed)
    bounded = {row.name for scope in guard.scopes for row in scope.rows if row.each or row.policy}
    result.free = {e.key: values.get(e.key) for e in settings if e.key not in bounded}


def _allowed(setting: Setting) -> str:
    if setting.state == "fixed":
        return f"{setting.value}"
    return setting.allowed


def deliver(result: Preflight, form: str) -> None:
    """Print the judgement, as text or as JSON."""
    if form == "json":
        print_text(json_text(result.to_dict()))
    else:
        print_text("\n".join(page(result, width())) + "\n")


def page(result: Preflight, columns: int) -> list[str]:
    """The judgement as lines of at most `columns` columns."""
    title = f"{result.benchmark}, {result.rules.title}, {result.division} division"
    lines = [*wrap(clean(title), columns), *_finding_lines(result, columns)]
    lines += _needed("missing: a run must log these hyperparameters", result.missing, columns)
    lines += _evaluations(result, columns)
    lines += _reference(result.reference, columns)
    lines += _free(result, columns)
    also = ", ".join(needed.key for needed in result.to_log)
    lines += wrap(f"also required in the log: {also}", columns, "", "  ") if also else []
    ignored = clean(", ".join(result.ignored))
    lines += wrap(f"ignored, not keys of a log: {ignored}", columns, "", "  ") if ignored else []
    return [*lines, "LEGAL" if result.legal else "ILLEGAL"]


def _finding_lines(result: Preflight, width: int) -> Iterator[str]:
    for finding in result.findings:
        position = "" if finding.line is None else f"line {finding.line}  "
        head = f"  {finding.severity.value:<9}{position}[{clean(finding.id)}]"
        yield from wrap(head, width, "", " " * 11)
        yield from wrap(clean(finding.message), width, " " * 11, " " * 11)
        if finding.hint:
            yield from wrap(f"help: {clean(finding.hint)}", width, " " * 11, " " * 13)


def _needed(title: str, needed: list[Needed], width: int) -> Iterator[str]:
    if needed:
        yield from wrap(title, width, "", "  ")
    for entry in needed:
        bound = f": {entry.allowed}" if entry.allowed else ""
        yield from wrap(clean(f"{entry.key}{bound}"), width, "  ", "    ")


def _evaluations(result: Preflight, width: int) -> Iterator[str]:
    for evaluation in result.evaluations:
        yield from wrap(clean(f"evaluate {evaluation['text']}"), width, "", "  ")


def _reference(expected: Expected, width: int) -> list[str]:
    if expected.mean is None or expected.minimum is None:
        return wrap(f"reference convergence: {expected.reason}", width, "", "  ")
    return wrap(
        f"reference convergence at batch size {expected.batch_size:g} ({expected.case}): "
        f"{expected.mean:,.6g} {expected.unit} on average; the mean of {expected.runs} runs must "
        f"be at least {expected.minimum:,.6g}",
        width,
        "",
        "  ",
    )


def _free(result: Preflight, width: int) -> list[str]:
    settings = [
        key if value is None else f"{key} ({clean(show(value))})"
        for key, value in result.free.items()
    ]
    return wrap(f"free to choose: {', '.join(settings)}", width, "", "  ") if settings else []
