"""What a submission's checks need to know of each log, gathered while the log is at hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from logging_spec import keys
from logging_spec.read import Log
from rules.convergence.facts import RunFacts, run_facts
from rules.finding import Profile, Severity
from rules.round import Round
from rules.run import Run, metadata_of

Seed = tuple[Any, int, Any, Any]
"""A seed as logged: value, line of the log, and the source file and line of its call site."""


@dataclass(slots=True)
class LogFacts:
    """Facts of one log beside its findings; small enough to travel between processes."""

    run: RunFacts
    seeds: list[Seed] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    org: str | None = None
    platform: str | None = None
    status: str | None = None
    fingerprint: tuple[Any, ...] = ()
    sources: dict[str, tuple[int, int]] = field(default_factory=dict)
    config: str | None = None
    unreadable: bool = False
    missed_only: bool = False


def gather(
    log: Log, run: Run, rules: Round, profile: Profile, name: str, errors: set[str]
) -> LogFacts:
    """The facts of one log; `errors` are the ids of its error findings."""
    targets = {rule for rule in errors if rule.endswith(".target")}
    return LogFacts(
        run_facts(run, rules.usage, rules.name, profile, name),
        _seeds(run),
        _settings(run),
        _text(run, "submission_org"),
        _text(run, "submission_platform"),
        _text(run, "submission_status"),
        _fingerprint(run),
        _sources(run),
        _text(run, "config_filename"),
        any(not fault.recovered for fault in log.faults),
        bool(errors) and errors == targets,
    )


def _text(run: Run, key: str) -> str | None:
    value = run.value(key)
    return value if isinstance(value, str) else None


def _seeds(run: Run) -> list[Seed]:
    seeds = []
    for index in run.where.get("seed", ()):
        record = run.records[index]
        metadata = metadata_of(record)
        seeds.append((record.value, run.line(index), metadata.get("file"), metadata.get("lineno")))
    return seeds


def _settings(run: Run) -> dict[str, Any]:
    """The first value of each hyperparameter key, by which runs of one result must agree."""
    return {
        key: run.records[run.where[key][0]].value for key in _HYPERPARAMETERS & run.where.keys()
    }


def _fingerprint(run: Run) -> tuple[Any, ...]:
    """Times and values that no two honest runs share: the marks of the run, its evaluations."""
    marks = [run.first(key) for key in ("run_start", "run_stop")]
    evaluations = run.of("eval_accuracy")[:20] or run.of("eval_error")[:20]
    times = tuple(mark.time_ms for mark in marks if mark is not None)
    return (*times, *((e.time_ms, repr(e.value)) for e in evaluations)) if times else ()


def _sources(run: Run) -> dict[str, tuple[int, int]]:
    """Source files that one record of each key names: (source line, line of the log)."""
    sources: dict[str, tuple[int, int]] = {}
    for places in run.where.values():
        metadata = metadata_of(run.records[places[0]])
        file, lineno = metadata.get("file"), metadata.get("lineno")
        if isinstance(file, str) and isinstance(lineno, int):
            known = sources.get(file)
            if known is None or lineno > known[0]:
                sources[file] = (lineno, run.origin.get(places[0], places[0]))
    return sources


_HYPERPARAMETERS = frozenset(
    name for name, key in keys.ALL.items() if key.role == "hyperparameter" and name != "seed"
)


def error_ids(findings: list[Any]) -> set[str]:
    """The ids of the error findings."""
    return {finding.id for finding in findings if finding.severity is Severity.ERROR}
