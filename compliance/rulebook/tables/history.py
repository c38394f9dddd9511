"""Since when a rule is as it is: a walk back through the chain of rounds."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from podium.compliance.rulebook.tables.tables import tables
from podium.rules.model.benchmark import line_name
from podium.rules.model.round import Round
from podium.rules.table import Line, WholeLogRule


class Kind(StrEnum):
    """What a rule is: a cell of a table, a target, about a whole log, a check, a log fault."""

    ROW = "row"
    TARGET = "target"
    END = "end"
    CHECK = "check"
    LOG = "log"
    PACKAGE = "package"
    INTERNAL = "internal"


def renamed(newer: Round, older: Round) -> dict[str, str]:
    """Names of the newer round's benchmarks in the older one, where they differ."""
    # The title stays when a benchmark is renamed: ssd and retinanet, gnn and rgat share theirs
    gone = {b.title: name for name, b in older.benchmarks.items() if name not in newer.benchmarks}
    new = {b.title: name for name, b in newer.benchmarks.items() if name not in older.benchmarks}
    return {name: gone[title] for title, name in new.items() if title in gone}


def table_before(table: str, newer: Round, older: Round) -> str:
    """The name that a table of the newer round has in the older one."""
    names = renamed(newer, older)
    return ".".join(names.get(part, part) for part in table.split("."))


def since(rules: Round, table: str, line: Line, kind: Kind) -> str:
    """The first round from which on the rule stayed as it is in `rules`."""
    first = rules
    for older in rules.chain()[1:]:
        table = table_before(table, first, older)
        then = tables(older).get(table)
        if then is None:
            break
        same = {line_name(other): other for other in then.lines}.get(line_name(line))
        # Where no verifier exists all is stated by the policy: that alone makes no new rule.
        both = rules.verified and older.verified
        if same is None or essence(same, kind, both) != essence(line, kind, both):
            break
        first = older
    return first.name


def essence(line: Line, kind: Kind, stated: bool = True) -> tuple[Any, ...]:
    """What makes two lines the same rule: not their explanations and citations."""
    by = line.stated_by if stated else None
    if isinstance(line, WholeLogRule):
        return (line.id, line.text, by)
    if kind is Kind.TARGET:
        return (line.name, line.some, line.policy_some, by)
    return (line.name, line.each, line.times, line.first, line.policy, by)
