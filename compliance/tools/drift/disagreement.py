"""What two checkers say differently of one row, and the whole comparison, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from podium.compliance.rulebook.tables.log_kinds import Which, effective
from podium.compliance.rulebook.tables.rule import cell, times_text
from podium.compliance.tools.drift.installed import About, KeyRule
from podium.rules.model.round import Round
from podium.rules.table import Row

Verdict = Literal["accepts", "rejects"]

NAMES = "submission_benchmark"

MOST_EXAMPLES = 3
"""Logs shown of one disagreement."""


class Example(msgspec.Struct, frozen=True):
    """What was logged, and the two verdicts on it."""

    logged: str
    ours: Verdict
    theirs: Verdict


class Disagreement(msgspec.Struct, frozen=True):
    """A row to change: where it is, what the tables say, and what the official rule file says.

    `file` is the official rule file, which a row of ours stands for as well; `benchmark` and
    `division` are empty for rows of all. Where neither `ours` nor `theirs` says anything about the
    key, the two read the log itself differently. Without a `key`, it is about a whole round.
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
    """All of it. `rounds` were compared, `lacking` are those that the installed release lacks."""

    about: About
    python: str
    rounds: tuple[str, ...]
    lacking: tuple[str, ...]
    logs: int
    rows: tuple[Disagreement, ...]


class Place(msgspec.Struct, frozen=True):
    """Where a key is decided: division and benchmark, empty for all, and the rule file."""

    division: str
    benchmark: str
    file: str


def place_of(which: Which, key: str, files: Mapping[str, Mapping[str, KeyRule]]) -> Place:
    """The innermost place that decides a key, by either checker; for neither, the benchmark's."""
    divided = which.rules.divided
    own = f"{which.division}_{which.benchmark}" if divided else which.benchmark
    outer = f"{which.division}_common"
    inner = [name for name in files if name == own or name.startswith(f"{own}_")]
    innermost = next((name for name in reversed(inner) if key in files[name]), "")
    division = which.division if divided else ""
    rule = effective(which)[key][0] if key in effective(which) else ""
    owner = rule.removesuffix(f".{key}")
    if innermost or which.benchmark in owner.split("."):
        return Place(division, which.benchmark, innermost or own)
    if divided and (key in files.get(outer, {}) or owner == which.division):
        return Place(division, "", outer)
    if key in files.get("common", {}) or owner == "common":
        return Place("", "", "common")
    return Place(division, which.benchmark, own)


def row_text(row: Row | None) -> str:
    """What a row of ours demands, on one line; empty where there is none."""
    if row is None:
        return ""
    some = "".join(f"; some: {each.text()}" for each in row.some)
    return f"{cell(row)}{some}; {times_text(row.times)}"


def row_at(rules: Round, place: Place, key: str) -> Row | None:
    """Our row of a key as the verifier has it, where it is decided."""
    for scope in reversed(rules.scopes(place.division, place.benchmark)):
        rows = [*(row for chosen in scope.chosen for _, row in chosen.verified)]
        rows += [row for _, row in scope.verified]
        for row in rows:
            if row.name == key:
                return row
    return None


def merged(found: Iterable[Disagreement]) -> tuple[Disagreement, ...]:
    """Each row once, with the examples of all kinds of log that showed it."""
    by_row: dict[tuple[str, ...], Disagreement] = {}
    for one in found:
        name = (one.usage, one.round, one.division, one.benchmark, one.key)
        before = by_row.get(name)
        if before is None:
            by_row[name] = one
            continue
        examples = tuple(dict.fromkeys((*before.examples, *one.examples)))
        by_row[name] = msgspec.structs.replace(before, examples=examples)
    return tuple(
        msgspec.structs.replace(one, examples=_telling(one.examples)) for one in by_row.values()
    )


def _telling(examples: tuple[Example, ...]) -> tuple[Example, ...]:
    """A few of them: of each direction if both are there."""
    first = [next((e for e in examples if e.theirs == v), None) for v in ("rejects", "accepts")]
    chosen = dict.fromkeys([*(e for e in first if e is not None), *examples])
    return tuple(chosen)[:MOST_EXAMPLES]
