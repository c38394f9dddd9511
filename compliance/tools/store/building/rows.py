"""The rows of a round's small tables: from its report, its results and their runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from podium.compliance.judging.results.result import Result, Run
from podium.compliance.judging.systems.reader import line_of, read_description
from podium.compliance.judging.systems.values import describe
from podium.compliance.reporting.data import FileEntry, Outcome
from podium.compliance.reporting.data import ResultEntry as JudgedEntry
from podium.compliance.reporting.json_text import json_text
from podium.compliance.tools.scoring.report import ScoreEntry
from podium.compliance.tools.scoring.row import row_of
from podium.compliance.tools.store.building.machine import machine_of
from podium.compliance.tools.store.building.records import LogRows, json_line
from podium.compliance.tools.store.building.spelling import place_in
from podium.compliance.tools.store.building.units import Converged, converged_in
from podium.rules.catalogue import rounds_of
from podium.rules.convergence.data import point_lines, points_of
from podium.rules.convergence.statistics import mean_of
from podium.rules.model.round import Round

Row = dict[str, Any]


class TakenLog(msgspec.Struct, frozen=True):
    """The part of a log that is kept until the end of its round: all except its records."""

    rules: Round
    records: int
    taken: LogRows


class Material(msgspec.Struct, frozen=True):
    """A round that has been read: its report, its results, and its logs by their shown paths.

    `root` is the round's folder; the paths of its files begin with `name`.
    """

    root: Path
    name: str
    outcome: Outcome
    results: list[Result]
    logs: Mapping[str, TakenLog]
    rules: Round

    def place(self, display_path: str) -> str:
        """A path of the report, in the form of the store."""
        return self.name if display_path in ("", ".") else f"{self.name}/{display_path}"

    def where(self, display_path: str, line: int | None, rules: Round | None = None) -> Row:
        """The first columns of each row."""
        round_rules = rules or self.rules
        file = self.place(display_path)
        return {"suite": round_rules.usage, "round": round_rules.name, "file": file, "line": line}


def small_tables(material: Material) -> Iterator[tuple[str, Iterable[Row]]]:
    """(name, rows) of every table except records and evaluations."""
    files = {file.path: file for file in material.outcome.files}
    runs: list[Row] = []
    results: list[Row] = []
    power: list[Row] = []
    judged = {result.path: result for result in material.outcome.results}
    for result in sorted(material.results, key=lambda result: result.place.display_path):
        entry = row_of(result)
        identity = _whose(material, result)
        results.append(_result(material, result, entry, judged.get(result.place.display_path)))
        runs += _runs(material, result, entry, identity, files)
        power += _power(material, result, identity["result"])
    yield "runs", runs
    yield "results", results
    yield "power", power
    yield "systems", _systems(material, files)
    yield "rcps", _points(material)
    yield "findings", _findings(material)


def _whose(material: Material, result: Result) -> Row:
    location = result.place
    submitter, system = place_in(location.display_path)
    return {
        "result": material.place(location.display_path),
        "submitter": location.submitter or submitter,
        "system": location.system or system,
        "benchmark": location.benchmark,
        "division": result.division,
    }


# --- results and runs -----------------------------------------------------------------------------


def _result(
    material: Material, result: Result, entry: ScoreEntry, judged: JudgedEntry | None
) -> Row:
    first = result.runs[0]
    line = material.logs[first.display_path].taken.line
    rcp, spread = entry.rcp, entry.spread
    converged = converged_in(
        result,
        Converged(entry.to_converge, entry.unit),
        entry.batch_size,
        _zero_based(material, result),
    )
    return {
        **material.where(first.display_path, line, result.rules),
        **_whose(material, result),
        **machine_of(result),
        **_span(result),
        "scaling": entry.scaling,
        "verdict": judged and judged.verdict,
        "official_verdict": judged and judged.official_verdict,
        "minutes": entry.minutes,
        "factor": entry.factor,
        "score": entry.score,
        "runs": entry.runs,
        "converged": entry.converged,
        "needed": entry.needed,
        "dropped": entry.dropped,
        "batch_size": entry.batch_size,
        "to_converge": converged.value,
        "unit": converged.unit,
        "deviation": spread and spread.deviation,
        "rcp_verdict": rcp and rcp.verdict,
        "rcp_case": rcp and rcp.case,
        "rcp_mean": rcp and rcp.mean,
        "rcp_minimum": rcp and rcp.minimum,
        "official_joules": result.official_energy.joules,
        "energy_gap": result.official_energy.gap or None,
        "joules": entry.energy_joules,
        "models": entry.models,
        "minutes_of_all": entry.time_to_train_all,
        "models_per_minute": entry.models_per_minute,
        "quality": entry.quality,
    }


def _span(result: Result) -> Row:
    rules = result.rules
    benchmark = rules.benchmark(result.place.benchmark)
    first, last = benchmark.comparable or (rules.name, rules.name)
    names = [*rounds_of(rules.usage)]
    # A benchmark may exist longer than the rounds in which its results are comparable
    if first in names and last in names:
        inside = names.index(first) <= names.index(rules.name) <= names.index(last)
        first, last = (first, last) if inside else (rules.name, rules.name)
    return {"model": benchmark.lineage, "comparable_from": first, "comparable_to": last}


def _runs(
    material: Material,
    result: Result,
    entry: ScoreEntry,
    identity: Row,
    files: Mapping[str, FileEntry],
) -> Iterator[Row]:
    zero_based = _zero_based(material, result)
    for run, scored_run in zip(result.runs, entry.run_list, strict=True):
        log, file = material.logs[run.display_path], files.get(run.display_path)
        yield {
            **material.where(run.display_path, log.taken.line, result.rules),
            **identity,
            "scaling": entry.scaling,
            "verdict": file and file.verdict,
            "official_verdict": file and file.official_verdict,
            **_timed(result, run, log.taken, zero_based=zero_based),
            "converged": scored_run.converged,
            "role": scored_run.role,
            "quality": scored_run.quality,
            "seed": _text(scored_run.seed),
            "evaluations": log.taken.evaluations.num_rows,
            "epochs": log.taken.epochs,
            "joules": scored_run.energy_joules,
            "records": log.records,
        }


def _zero_based(material: Material, result: Result) -> bool:
    """Whether the logs number epochs from 0, so that a run has one more than the last number."""
    ended = [
        (run.facts.run.to_converge, material.logs[run.display_path].taken.epochs)
        for run in result.runs
        if run.facts.run.unit == "epochs" and run.facts.run.to_converge
    ]
    return result.rules.usage == "hpc" and bool(ended) and all(e == last + 1 for last, e in ended)


def _timed(result: Result, run: Run, log_rows: LogRows, *, zero_based: bool) -> Row:
    facts = run.facts.run
    converged = converged_in(
        result, Converged(facts.to_converge, facts.unit), facts.batch_size, zero_based
    )
    return {
        "started_ms": facts.start_ms,
        "stopped_ms": facts.stop_ms,
        "minutes": facts.minutes,
        "to_converge": converged.value,
        "unit": converged.unit,
        "batch_size": facts.batch_size,
        "init_minutes": facts.init_minutes,
        "staging_minutes": facts.staging_minutes,
        "first_epoch_minutes": log_rows.first_epoch,
        "evaluation_minutes": log_rows.evaluating,
    }


def _power(material: Material, result: Result, name: str) -> Iterator[Row]:
    runs = {run.path.stem: run for run in result.runs}
    for meter in () if result.power is None else result.power.metered:
        yield {
            **material.where(meter.path, meter.line, result.rules),
            "result": name,
            "run": material.place(runs[meter.run].display_path),
            "part": "switch" if meter.switch else "node",
            "readings": meter.readings,
            "first_ms": meter.first_ms,
            "last_ms": meter.last_ms,
            "joules": meter.joules,
        }


def evaluation_batches(material: Material, arrow: Any) -> Iterator[Any]:
    """The evaluations of each log, as Arrow batches with all columns of the table."""
    owners = {
        run.display_path: material.place(result.place.display_path)
        for result in material.results
        for run in result.runs
    }
    for display_path, log in sorted(material.logs.items(), key=itemgetter(0)):
        evaluations = log.taken.evaluations
        ends = (log.rules.usage, log.rules.name, utf8(material.place(display_path)))
        owner = arrow.scalar(utf8(owners.get(display_path)), arrow.string())
        constants = [arrow.repeat(arrow.scalar(end), evaluations.num_rows) for end in ends]
        columns = [
            *constants,
            evaluations.column("line"),
            arrow.repeat(owner, evaluations.num_rows),
        ]
        yield [*columns, *evaluations.columns[1:]]


def utf8(value: Any) -> str | None:
    """A string that can be encoded as UTF-8: names of files need not be."""
    return None if value is None else str(value).encode("utf-8", "replace").decode()


# --- the rest -------------------------------------------------------------------------------------


def _systems(material: Material, files: Mapping[str, FileEntry]) -> Iterator[Row]:
    for display_path, file in files.items():
        if file.kind != "system":
            continue
        document = read_description(material.root / display_path)
        system = describe(document.fields)
        yield {
            **material.where(display_path, line_of(document, "system_name") or 1),
            "submitter": system.submitter,
            "system": Path(display_path).stem,
            "name": system.system_name,
            "division": system.division,
            "category": system.category,
            "nodes": system.number_of_nodes,
            "processors": system.processors,
            "processor": system.host_processor_model_name,
            "accelerators": system.accelerators,
            "accelerator": system.accelerator_model_name,
            "framework": system.framework,
            "operating_system": system.operating_system,
            "verdict": file.verdict,
            "fields": _text(document.fields),
        }


def _points(material: Material) -> Iterator[Row]:
    rules = material.rules
    for benchmark in sorted(rules.benchmarks):
        path = f"podium/rules/convergence/data/{rules.usage}/{benchmark}.json"
        key = (rules.usage, rules.name, benchmark)
        for point, line in zip(points_of(*key), point_lines(*key), strict=True):
            yield {
                "suite": rules.usage,
                "round": rules.name,
                "file": path,
                "line": line,
                "benchmark": benchmark,
                "point": point.id,
                "batch_size": point.batch_size,
                "runs": len(point.to_converge),
                "mean": mean_of(point.to_converge) if point.to_converge else None,
                "to_converge": _text(list(point.to_converge)),
                "unit": point.unit,
                "hyperparameters": _text(dict(point.hyperparameters)),
            }


def _findings(material: Material) -> Iterator[Row]:
    owner = _owners(material.outcome)
    for finding in material.outcome.findings:
        yield {
            **material.where(finding.path, finding.line),
            "submitter": owner(finding.path),
            "rule": finding.id,
            "severity": finding.severity.value,
            "key": finding.key,
            "message": finding.message,
            "expected": finding.expected,
            "actual": None if finding.actual is None else _text(finding.actual),
            "cites": finding.cites,
            "stated_by": finding.stated_by.value,
            "waived": finding.waived,
            "caused_by": finding.caused_by or None,
            "official": finding.official,
        }


def _owners(outcome: Outcome) -> Callable[[str], str | None]:
    """The function from a path to its submitter."""
    submitters = {submission.path: submission.submitter for submission in outcome.submissions}

    def owner(path: str) -> str | None:
        parts = path.split("/")
        heads: Iterable[str] = ("/".join(parts[:depth]) for depth in range(len(parts), 0, -1))
        return next((submitters[head] for head in heads if head in submitters), submitters.get("."))

    return owner


def _text(value: Any) -> str:
    try:
        return json_line(value)
    # A value of a finding may have any type
    except (TypeError, ValueError):
        return json_text(value, None).strip()
