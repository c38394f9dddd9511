"""The tables of the official summary, in the official layout."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.compliance.errors import NothingToJudge, UsageFault
from podium.compliance.judging.inputs.layout import PRIVATE_ID
from podium.compliance.judging.inputs.round_selection import RoundRequest
from podium.compliance.judging.inputs.source_files import small_json
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import judge_paths
from podium.compliance.judging.systems.check import describe, read_description
from podium.compliance.reporting.console import inside, write_whole
from podium.compliance.text.terminal import clean
from podium.compliance.tools.scoring.render.sheets import write_sheets
from podium.compliance.tools.scoring.session import report_of, scored_results
from podium.rules.finding import Profile, Severity
from podium.rules.model.round import Round

if TYPE_CHECKING:
    from podium.compliance.judging.systems.check import SystemDescription
    from podium.compliance.tools.scoring.report import ScoreEntry


HEAD = (
    "division",
    "availability",
    "submitter",
    "system",
    "number_of_nodes",
    "host_processor_model_name",
    "host_processors_count",
    "accelerator_model_name",
    "accelerators_count",
    "framework",
    "notes",
    "private_id",
)
TAIL = ("details_url", "code_url")

WEAK = ("number_of_models", "instance_scale", "time_to_train_all")
DETAILS = (
    "time_to_train",
    "Energy",
    "GBS",
    "samples_to_converge",
    "RCP",
    "rcp_scaling_factor",
)


def columns_of(rules: Round) -> dict[str, tuple[str, ...]]:
    """The columns of the tables strong, weak and detailed."""
    order = {name: index for index, name in enumerate(rules.package.columns)}
    names = sorted(rules.allowed, key=lambda name: order.get(name, len(order)))
    return {
        "strong": (*HEAD, *names, *TAIL),
        "weak": (*HEAD, *(f"{name}:{column}" for name in names for column in WEAK), *TAIL),
        "detailed": (*HEAD, *(f"{name}:{column}" for name in names for column in DETAILS), *TAIL),
    }


Row = dict[str, Any]


@dataclass(slots=True)
class Tables:
    """The three tables, each with its columns, and the faults, one line each."""

    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    strong: list[Row] = field(default_factory=list)
    weak: list[Row] = field(default_factory=list)
    detailed: list[Row] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


# --- the summary ----------------------------------------------------------------------------------


def summarize(
    folder: str, usage: str, ruleset: str, csv_path: Path | None, xlsx_path: Path | None
) -> tuple[str, bool]:
    """The text of the summary, and whether every result has a score; writes requested files."""
    roots = [Path(path) for path in expand(folder)]
    rules = RoundRequest(usage, ruleset).choose(".").rules
    for path in (csv_path, xlsx_path):
        # The official tool writes into submissions; podium never does
        if path is not None and inside(path, roots):
            raise UsageFault(f"{path} is inside the tree being read; choose a path outside")
    tables = tables_of(roots, rules)
    strong_csv = table_csv(tables.columns["strong"], tables.strong)
    weak_csv = table_csv(tables.columns["weak"], tables.weak) if tables.weak else ""
    if csv_path is not None:
        # One file with a separate heading for the weak results, like the official file
        write_whole(csv_path, strong_csv + weak_csv)
        detailed = csv_path.with_name(f"{csv_path.stem}_detailed{csv_path.suffix}")
        # Replaced completely: the official tool appends a table with each call
        write_whole(detailed, table_csv(tables.columns["detailed"], tables.detailed))
    if xlsx_path is not None:
        sheets = (("strong", tables.strong), ("weak", tables.weak), ("detailed", tables.detailed))
        write_sheets([(n, tables.columns[n], _padded(tables, n, r)) for n, r in sheets], xlsx_path)
    # Below these headings the official program prints nothing
    lines = ["Strong Scaling Scores:", strong_csv.rstrip("\n")]
    if weak_csv:
        lines += ["Weak Scaling Scores:", weak_csv.rstrip("\n")]
    lines += [f"ERROR: {clean(fault)}" for fault in tables.faults]
    return "\n".join(lines) + "\n", not tables.faults


def expand(pattern: str) -> list[str]:
    """The paths of a pattern with braces, such as `round/{first,second}`; else the path itself.

    Raises NothingToJudge if a path does not exist.
    """
    paths = _expanded(pattern)
    for path in paths:
        if not os.path.isdir(path):
            raise NothingToJudge(f"no such folder: {path}")
    return paths


def _expanded(pattern: str) -> list[str]:
    match = re.search(r"\{([^{}]*)\}", pattern)
    if match is None or os.path.exists(pattern):
        return [pattern]
    before, after = pattern[: match.start()], pattern[match.end() :]
    alternatives = (alternative.strip() for alternative in match[1].split(","))
    return [
        path for alternative in alternatives for path in _expanded(f"{before}{alternative}{after}")
    ]


def tables_of(roots: Sequence[Path], rules: Round) -> Tables:
    """The tables of the submissions, with rows in the official order."""
    options = Options(
        usage=rules.usage,
        round=rules.name,
        profile=Profile.VERIFIER,
        jobs=os.cpu_count() or 1,
    )
    tables = Tables(columns_of(rules))
    for root in roots:
        if not (root / "results").is_dir():
            raise NothingToJudge(f"{root} is not a submission: it has no results folder")
        _take(tables, root, rules, options)
    for rows in (tables.strong, tables.weak, tables.detailed):
        rows.sort(key=_sort_key)
    return tables


def _take(tables: Tables, root: Path, rules: Round, options: Options) -> None:
    files = judge_paths([root], options)
    results = scored_results(files, options)
    for finding in report_of(files, options, results).findings:
        if finding.severity is Severity.ERROR and finding.id.startswith(("score.", "internal.")):
            tables.faults.append(f"{root}/{finding.path}: {finding.message}")
    entries: dict[tuple[str, str], list[ScoreEntry]] = {}
    for result in results:
        entry = result.entry
        entries.setdefault((entry.system, entry.scaling), []).append(entry)
    for system in _systems(root):
        head = _head(tables, root, system, rules)
        if head is None:
            continue
        strong = entries.get((system, "strong"), [])
        weak = entries.get((system, "weak"), [])
        if strong or not weak:
            tables.strong.append({**head, **{entry.benchmark: entry.score for entry in strong}})
            tables.detailed.append({**head, **dict(_details(strong))})
        if weak:
            tables.weak.append({**head, **dict(_throughput(weak))})


def _systems(root: Path) -> list[str]:
    return sorted(entry.name for entry in os.scandir(root / "results") if entry.is_dir())


def _details(entries: Sequence[ScoreEntry]) -> Iterator[tuple[str, Any]]:
    for entry in entries:
        has_reference = entry.rcp is not None and entry.rcp.submission is not None
        values = (
            entry.score,
            entry.scaled_energy_joules,
            entry.batch_size if has_reference else None,
            entry.to_converge if has_reference else None,
            _rcp_word(entry) if has_reference else "",
            entry.factor,
        )
        for name, value in zip(DETAILS, values, strict=True):
            yield f"{entry.benchmark}:{name}", value


def _rcp_word(entry: ScoreEntry) -> str:
    rcp = entry.rcp
    assert rcp is not None
    if rcp.verdict == "pass":
        return "Pass"
    if rcp.verdict == "missing":
        return "Missing RCP"
    return "Interp. Fail" if rcp.case == "interpolated" else "Fail"


def _throughput(entries: Sequence[ScoreEntry]) -> Iterator[tuple[str, Any]]:
    for entry in entries:
        yield f"{entry.benchmark}:{WEAK[0]}", entry.models
        yield f"{entry.benchmark}:{WEAK[1]}", entry.instance_scale
        yield f"{entry.benchmark}:{WEAK[2]}", entry.time_to_train_all


# --- the description's part of a row --------------------------------------------------------------


def _head(tables: Tables, root: Path, system: str, rules: Round) -> Row | None:
    path = root / "systems" / f"{system}.json"
    if not path.is_file():
        # The official tools crash here, and no other system gets a result
        tables.faults.append(f"{path} is missing: its results are omitted")
        return None
    document = read_description(path)
    if not document.is_object:
        tables.faults.append(f"{path} is not a system description: its results are omitted")
        return None
    return _identity(describe(document.fields), document.fields, root, system, rules)


def _identity(
    described: SystemDescription, fields: dict[str, Any], root: Path, system: str, rules: Round
) -> Row:
    submitter = _text(fields, "submitter")
    site = f"https://github.com/mlcommons/{rules.usage}_results_v{rules.name}/blob"
    notes = [_text(fields, name) for name in ("hw_notes", "sw_notes")]
    return {
        "division": _text(fields, "division"),
        "availability": _text(fields, "status"),
        "submitter": submitter,
        "system": _text(fields, "system_name"),
        "number_of_nodes": fields.get("number_of_nodes", ""),
        "host_processor_model_name": _text(fields, "host_processor_model_name"),
        "host_processors_count": described.processors,
        "accelerator_model_name": _text(fields, "accelerator_model_name"),
        "accelerators_count": described.accelerators,
        "framework": _text(fields, "framework"),
        "notes": ";".join(note for note in notes if note),
        "private_id": _private_id(root, system),
        # From the file name: the official link uses system_name, which often differs
        "details_url": f"{site}/main/{submitter}/systems/{system}.json",
        # The two links name different branches, main and master, in the official table, too
        "code_url": f"{site}/master/{submitter}/benchmarks",
    }


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return "" if value is None else str(value)


def _private_id(root: Path, system: str) -> str:
    try:
        # Only read: the official tool writes a missing ID into the submission
        return str(small_json(root / "results" / system / PRIVATE_ID)["private_id"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _sort_key(row: Row) -> tuple[tuple[int, float, str], ...]:
    """Numbers before strings, so that any descriptions can be sorted."""
    return tuple(
        (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, str(value or ""))
        for value in (row[name] for name in HEAD)
    )


def table_csv(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """A table as CSV, absent values empty; counts as the official summary prints them."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in columns])
    return stream.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return clean(value) if isinstance(value, str) else value


def _padded(tables: Tables, name: str, rows: Sequence[Row]) -> Iterator[Row]:
    for row in rows:
        yield {column: row.get(column) for column in tables.columns[name]}
