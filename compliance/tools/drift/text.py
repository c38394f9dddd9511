"""Print a comparison with an installed official checker as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from podium.compliance.reporting.json_text import json_text
from podium.compliance.rulebook.tables.log_kinds import LogKind, effective
from podium.compliance.rulebook.tables.rule import cell, times_text
from podium.compliance.text.terminal import clean, wrap
from podium.compliance.text.words import plural
from podium.compliance.tools.drift.installed import About, KeyRule
from podium.rules.model.round import Round
from podium.rules.table import Row

Verdict = Literal["accepts", "rejects"]

NAMES = "submission_benchmark"

MOST_EXAMPLES = 3
"""Number of logs shown for one disagreement."""


class Example(msgspec.Struct, frozen=True):
    """The logged value, and the two verdicts on it."""

    logged: str
    ours: Verdict
    theirs: Verdict


class Disagreement(msgspec.Struct, frozen=True):
    """A row to change: its place, our table row, and the entry of the official rule file.

    `file` is the official rule file that corresponds to our row. `benchmark` and `division` are
    empty for rows that apply to all. If both `ours` and `theirs` are empty, the two read the log
    itself differently. Without a `key`, the disagreement is about a full round.
    """

    usage: str
    round: str
    division: str
    benchmark: str
    key: str
    file: str
    ours: str
    theirs: str
    examples: tuple[Example, ...] = ()


class Comparison(msgspec.Struct, frozen=True):
    """A full comparison. `rounds` were compared; the installed release lacks those in `lacking`."""

    about: About
    python: str
    rounds: tuple[str, ...]
    lacking: tuple[str, ...]
    logs: int
    rows: tuple[Disagreement, ...]


class DecidingFile(msgspec.Struct, frozen=True):
    """The place of a key: division and benchmark, empty for all, and the rule file."""

    division: str
    benchmark: str
    file: str


def place_of(
    log_kind: LogKind, key: str, files: Mapping[str, Mapping[str, KeyRule]]
) -> DecidingFile:
    """The innermost place of a key in either checker; if there is none, that of the benchmark."""
    divided = log_kind.rules.divided
    base_name = f"{log_kind.division}_{log_kind.benchmark}" if divided else log_kind.benchmark
    outer = f"{log_kind.division}_common"
    inner = [name for name in files if name == base_name or name.startswith(f"{base_name}_")]
    innermost = next((name for name in reversed(inner) if key in files[name]), "")
    division = log_kind.division if divided else ""
    rule = effective(log_kind)[key][0] if key in effective(log_kind) else ""
    owner = rule.removesuffix(f".{key}")
    if innermost or log_kind.benchmark in owner.split("."):
        return DecidingFile(division, log_kind.benchmark, innermost or base_name)
    if divided and (key in files.get(outer, {}) or owner == log_kind.division):
        return DecidingFile(division, "", outer)
    if key in files.get("common", {}) or owner == "common":
        return DecidingFile("", "", "common")
    return DecidingFile(division, log_kind.benchmark, base_name)


def row_text(row: Row | None) -> str:
    """The requirements of our row on one line; empty for None."""
    if row is None:
        return ""
    alternatives = "".join(f"; some: {constraint.text()}" for constraint in row.some)
    return f"{cell(row)}{alternatives}; {times_text(row.times)}"


def row_at(rules: Round, deciding_file: DecidingFile, key: str) -> Row | None:
    """Our row of a key in the verifier profile, at its place."""
    for scope in reversed(rules.scopes(deciding_file.division, deciding_file.benchmark)):
        rows = [*(row for chosen in scope.chosen for _, row in chosen.verified)]
        rows += [row for _, row in scope.verified]
        for row in rows:
            if row.name == key:
                return row
    return None


def merged(rows: Iterable[Disagreement]) -> tuple[Disagreement, ...]:
    """Each row once, with the examples from all kinds of logs."""
    by_row: dict[tuple[str, ...], Disagreement] = {}
    for row in rows:
        name = (row.usage, row.round, row.division, row.benchmark, row.key)
        before = by_row.get(name)
        if before is None:
            by_row[name] = row
            continue
        examples = tuple(dict.fromkeys((*before.examples, *row.examples)))
        by_row[name] = msgspec.structs.replace(before, examples=examples)
    return tuple(
        msgspec.structs.replace(row, examples=_telling(row.examples)) for row in by_row.values()
    )


def _telling(examples: tuple[Example, ...]) -> tuple[Example, ...]:
    """A few examples, one of each direction if possible."""
    first = [next((e for e in examples if e.theirs == v), None) for v in ("rejects", "accepts")]
    chosen = dict.fromkeys([*(e for e in first if e is not None), *examples])
    return tuple(chosen)[:MOST_EXAMPLES]


SCHEMA = "podium.rules-drift/1"


def drift_text(comparison: Comparison, width: int) -> str:
    """The rows to change, by round and benchmark, then a summary."""
    lines: list[str] = []
    title = ""
    for row in comparison.rows:
        row_title = _title(row)
        if row_title != title:
            lines += [*([""] if lines else []), clean(row_title)]
            title = row_title
        lines += _row(row, width)
    if lines:
        lines.append("")
    return "\n".join([*lines, *_summary(comparison, width)]) + "\n"


def _title(row: Disagreement) -> str:
    subject = ", ".join(filter(None, (row.division, row.benchmark))) or "every log"
    return f"{row.usage} {row.round}, {subject}" if row.key else f"{row.usage} {row.round}"


def _row(row: Disagreement, width: int) -> Iterator[str]:
    if row.key:
        yield f"  {clean(row.key)}"
    for name, text in (("ours", row.ours), ("theirs", row.theirs)):
        yield from _labelled(name, text or "nothing", width)
    for example in row.examples:
        verdicts = f"{example.logged}: ours {example.ours}, theirs {example.theirs}"
        yield from _labelled("log", verdicts, width)


def _labelled(name: str, text: str, width: int) -> Iterator[str]:
    label = f"    {name:<8}"
    for line in wrap(clean(text), width - len(label)):
        yield f"{label}{line}"
        label = " " * len(label)


def _summary(comparison: Comparison, width: int) -> list[str]:
    count = (
        f"{plural(len(comparison.rows), 'row')} to change" if comparison.rows else "No disagreement"
    )
    text = (
        f"{count}: mlperf-logging {comparison.about.version}, "
        f"{plural(len(comparison.rounds), 'round')}, "
        f"{plural(comparison.logs, 'log')} checked with both."
    )
    lines = wrap(clean(text), width)
    if comparison.lacking:
        lines += wrap(f"Not in that release: {', '.join(comparison.lacking)}.", width)
    return lines


def drift_json(comparison: Comparison) -> str:
    """The comparison as data; the schema is `podium.rules-drift/1`."""
    return json_text(
        {
            "schema": SCHEMA,
            "installed": {"version": comparison.about.version, "python": comparison.python},
            "rounds": list(comparison.rounds),
            "lacking": list(comparison.lacking),
            "logs": comparison.logs,
            "rows": msgspec.to_builtins(comparison.rows),
        }
    )
