"""The tables of a round: named groups of rule lines that apply together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from podium.rules.catalogue import find_round
from podium.rules.finding import StatedBy
from podium.rules.model.round import DIVISIONS, Round
from podium.rules.model.scope import Scope
from podium.rules.table import Line, Row


@dataclass(frozen=True, slots=True)
class Table:
    """Lines that apply together, with a name such as `closed.llama31_8b`.

    `when` describes the logged value that adds a variant's lines. The official verifier uses a
    `hidden` table only if a log misnames its benchmark.
    """

    name: str
    division: str
    benchmark: str
    lines: tuple[Line, ...]
    when: str = ""
    hidden: bool = False


def divisions(rules: Round) -> tuple[str, ...]:
    """The divisions whose rules differ; one unnamed division in a round without divisions."""
    return DIVISIONS if rules.divided else ("",)


def tables(rules: Round) -> Mapping[str, Table]:
    """All tables of a round by name, outermost first."""
    return _tables(rules.usage, rules.name)


# Cached by names: a round has mappings and is not hashable
@cache
def _tables(usage: str, name: str) -> Mapping[str, Table]:
    rules = find_round(usage, name)
    by_name: dict[str, Table] = {}
    for division in divisions(rules):
        for scope in rules.scopes(division, ""):
            owner = "" if scope.name == "common" else division
            by_name.setdefault(scope.name, _table(scope, owner, ""))
    for benchmark in rules.benchmarks:
        for division in divisions(rules):
            if rules.has_rules(division, benchmark):
                for table in _scoped_tables(rules, division, benchmark):
                    by_name[table.name] = table
    return MappingProxyType(by_name)


def _scoped_tables(rules: Round, division: str, benchmark: str) -> Iterator[Table]:
    for scope in rules.scopes(division, benchmark):
        if not scope.benchmark:
            continue
        yield _table(scope, division, benchmark)
        for variant in scope.variants:
            condition = f"if {variant.chosen_by.name} is {variant.value}"
            name = f"{scope.name}.{variant.name}"
            yield Table(name, division, benchmark, variant.rows, condition)
            # The verifier stores a variant's rules like those of a benchmark, which a log may name
            misnamed = f"{benchmark}_{variant.name}"
            for other_scope in rules.scopes(division, misnamed):
                if other_scope.name == f"{division}.{misnamed}":
                    condition = f"if submission_benchmark is {misnamed}"
                    yield Table(
                        other_scope.name, division, benchmark, variant.rows, condition, hidden=True
                    )


def _table(scope: Scope, division: str, benchmark: str) -> Table:
    return Table(scope.name, division, benchmark, (*scope.rows, *scope.ends))


def own_tables(rules: Round, benchmark: str) -> list[Table]:
    """The tables of one benchmark in all divisions."""
    return [t for t in tables(rules).values() if t.benchmark == benchmark and not t.hidden]


def tables_for(rules: Round, benchmark: str, division: str) -> list[Table]:
    """The tables for a benchmark's log, innermost first, each without overridden rows."""
    result: list[Table] = []
    # In the official verifier only the last scope that lists a key decides it
    decided: set[str] = set()
    benchmark_tables = own_tables(rules, benchmark)
    outer = [t for t in tables(rules).values() if not t.benchmark and t.division in ("", division)]
    for table in (*(t for t in benchmark_tables if t.division == division), *reversed(outer)):
        lines = tuple(
            line
            for line in table.lines
            # Rows of the policy only override no rows of the verifier, and are not overridden
            if not (isinstance(line, Row) and _verified(line) and line.name in decided)
        )
        result.append(Table(table.name, table.division, table.benchmark, lines, table.when))
        # A variant decides only if its value is logged: the outer rows stay for other logs
        if not table.when:
            decided |= {line.name for line in lines if isinstance(line, Row) and _verified(line)}
    return result


def _verified(row: Row) -> bool:
    return row.stated_by is not StatedBy.POLICY
