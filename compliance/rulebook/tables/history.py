"""The first round of a rule in its present form, by walking back through the rounds."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from podium.compliance.rulebook.tables.tables import tables
from podium.rules.model.benchmark import line_name
from podium.rules.model.round import Round
from podium.rules.table import Line, WholeLogRule


class RuleKind(StrEnum):
    """The kind of a rule: table cell, target, whole log, check, log fault."""

    ROW = "row"
    TARGET = "target"
    END = "end"
    CHECK = "check"
    LOG = "log"
    PACKAGE = "package"
    INTERNAL = "internal"


def renamed(newer: Round, older: Round) -> dict[str, str]:
    """Benchmarks of the newer round that have another name in the older round."""
    # A renamed benchmark keeps its title: ssd and retinanet, gnn and rgat share a title
    old = {b.title: name for name, b in older.benchmarks.items() if name not in newer.benchmarks}
    new = {b.title: name for name, b in newer.benchmarks.items() if name not in older.benchmarks}
    return {name: old[title] for title, name in new.items() if title in old}


def table_before(table: str, newer: Round, older: Round) -> str:
    """The name of a newer round's table in the older round."""
    names = renamed(newer, older)
    return ".".join(names.get(part, part) for part in table.split("."))


def since(rules: Round, table: str, line: Line, kind: RuleKind) -> str:
    """The first round since which the rule is the same as in `rules`."""
    first = rules
    for older in rules.chain()[1:]:
        table = table_before(table, first, older)
        prior = tables(older).get(table)
        if prior is None:
            break
        twin = {line_name(other): other for other in prior.lines}.get(line_name(line))
        # Without a verifier the policy states everything: that alone is not a new rule
        both = rules.verified and older.verified
        if twin is None or essence(twin, kind, both) != essence(line, kind, both):
            break
        first = older
    return first.name


def essence(line: Line, kind: RuleKind, stated: bool = True) -> tuple[Any, ...]:
    """The identity of a rule, without its explanation and citation."""
    source = line.stated_by if stated else None
    if isinstance(line, WholeLogRule):
        return (line.id, line.text, source)
    if kind is RuleKind.TARGET:
        return (line.name, line.some, line.policy_some, source)
    return (line.name, line.each, line.times, line.first, line.policy, source)
