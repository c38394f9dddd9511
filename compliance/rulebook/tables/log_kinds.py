"""The kinds of log in the tables: round, division, benchmark, and choices that add rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from podium.compliance.rulebook.tables.fitting_values import obeys
from podium.rules import rounds
from podium.rules.catalogue import find_round
from podium.rules.model.benchmark import Benchmark, Variant
from podium.rules.model.round import Round
from podium.rules.model.scope import Scope, scope_of
from podium.rules.run import Run
from podium.rules.table import Row


class LogKind(NamedTuple):
    """One kind of log: round, division, benchmark, and the logged choices that add rows."""

    usage: str
    round: str
    division: str
    benchmark: str
    choices: tuple[tuple[str, str], ...] = ()

    @property
    def rules(self) -> Round:
        """The round's rules."""
        return find_round(self.usage, self.round)

    def __str__(self) -> str:
        choice_text = "".join(f" {value}" for _, value in self.choices)
        return f"{self.usage} {self.round} {self.division} {self.benchmark}{choice_text}"


@cache
def cases() -> tuple[LogKind, ...]:
    """Every round, division and benchmark that a log may name, with each choice of rows."""
    return tuple(kind for usage, name in rounds for kind in _cases(find_round(usage, name)))


def _cases(rules: Round) -> Iterator[LogKind]:
    for name, benchmark in rules.benchmarks.items():
        for division in ("closed", "open") if rules.divided else ("closed",):
            kind = LogKind(rules.usage, rules.name, division, name)
            entry = effective(kind).get("submission_benchmark")
            if not rules.has_rules(division, name) or (entry and not _accepts(entry[1], name)):
                continue
            for choices in _choices(benchmark, rules, division):
                yield kind._replace(choices=choices)


def _accepts(row: Row, value: Any) -> bool:
    return all(obeys(constraint, value, Run([])) for constraint in row.each)


def _choices(
    benchmark: Benchmark, rules: Round, division: str
) -> Iterator[tuple[tuple[str, str], ...]]:
    if not rules.divided and benchmark.name == "resnet":
        yield from ((("opt_name", name),) for name in ("sgd", "lars"))
    elif not benchmark.variants or division == "open":
        yield ()
    else:
        by_key: dict[str, list[Variant]] = {}
        for variant in benchmark.variants:
            by_key.setdefault(variant.chosen_by.name, []).append(variant)
        count = max(map(len, by_key.values()))
        for index in range(count):
            yield tuple(
                (key, variants[index % len(variants)].value) for key, variants in by_key.items()
            )


def scopes(kind: LogKind) -> list[Scope]:
    """The scopes for such a log, outermost first, including those of its choices."""
    all_scopes: list[Scope] = []
    choices = dict(kind.choices)
    for scope in kind.rules.scopes(kind.division, kind.benchmark):
        all_scopes.append(scope)
        all_scopes += [
            scope_of(f"{scope.name}.{variant.name}", variant.rows)
            for variant in scope.variants
            if choices.get(variant.chosen_by.name) == variant.value
        ]
    return all_scopes


def effective(kind: LogKind) -> dict[str, tuple[str, Row]]:
    """The row that decides each key, from the last scope that lists it, with its rule id."""
    rows: dict[str, tuple[str, Row]] = {}
    for scope in scopes(kind):
        for *_, rule, row in scope.verified if kind.rules.verified else scope.policy:
            rows[row.name] = (rule, row)
    return rows
