"""The rows of a table, judged one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from podium.rules.constraints.bounds import Test
from podium.rules.run import Run
from podium.rules.table import Row, Violation


class Step(NamedTuple):
    """One row as `judge_rows` takes it: what is quick to ask first.

    `tests` are of the value of the row's only record, at which the run's position is; None where
    more than that decides. `free`: the key may be absent.
    """

    name: str
    tests: tuple[Test, ...] | None
    free: bool
    rule: str
    row: Row


def steps_of(rows: Iterable[tuple[str, Row]]) -> tuple[Step, ...]:
    """(rule id, row) of a table's rows as `judge_rows` takes them."""
    return tuple(
        Step(row.name, _tests_of(row), not row.times.least, rule, row) for rule, row in rows
    )


def judge_rows(steps: tuple[Step, ...], run: Run) -> Iterator[tuple[str, Row, list[Violation]]]:
    """(rule id, row, violations) of the rows that are violated, or whose `some` is to be judged.

    Most rows of most logs find the one record of their key, and all is well: every other way to
    judge starts with a call, and there are dozens of rows for each log.
    """
    where, records = run.where, run.records
    for name, tests, free, rule, row in steps:
        found = where.get(name)
        if found is None:
            if free:
                continue
        elif tests is not None and len(found) == 1:
            run.position = index = found[0]
            value = records[index].value
            try:
                for test in tests:
                    if not test(value, run):
                        break
                else:
                    continue
            except Exception:
                pass  # the row itself reports what is wrong
        violations = row.judge(run)
        if violations or row.some:
            yield rule, row, violations


def _tests_of(row: Row) -> tuple[Test, ...] | None:
    if row.first or row.some or row.times.least > 1:
        return None
    return tuple(constraint.at_position() for constraint in row.each)
