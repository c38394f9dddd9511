"""Requirements of the guard: watched checks, declared keys and a constant cost per record."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any, cast

import msgspec
import pytest

from podium.compliance.rulebook.tables.candidates import blank
from podium.logging_spec import keys as k
from podium.logging_spec.reader.read import parse_log
from podium.logging_spec.reader.record import Record
from podium.rules import rounds
from podium.rules.catalogue import find_round
from podium.rules.checks import Check, Context
from podium.rules.checks.catalogue import HPC
from podium.rules.constraints.constraint import Constraint
from podium.rules.constraints.evaluation_points import every_batch_from
from podium.rules.constraints.order import after, before
from podium.rules.model.round import Round
from podium.rules.run import Run
from tests.compliance.tools.live.test_guard import good, guard

AT_END = {
    "evaluation.other-checkpoint",
    "evaluation.counted-offline",
    "evaluation.counts-steps",
    "pairing.unclosed-interval",
    "pairing.stop-without-start",
    "pairing.unstarted-evaluation",
    "pairing.evaluation-positions",
    "pairing.evaluation-without-outcome",
    "pairing.block-positions",
    "log.misspelt-key",
    "log.repeated-by-ranks",
    "seed.missing",
    "staging.not-logged",
    "speed.cut-interval",
    "speed.changes",
    "speed.throughput-disagrees",
}
"""Checks that a later record may still satisfy: only the end of the log decides them."""


@pytest.mark.parametrize("each", HPC, ids=lambda each: each.id)
def test_a_check_is_watched_unless_a_later_record_may_satisfy_it(each: Check) -> None:
    assert bool(each.watches) != (each.id in AT_END)


class Unnamed:
    """The context of a log without a declared division or benchmark: only the round is known."""

    def __init__(self, rules: Round) -> None:
        self.limits, self.generation, self.of_round = rules.limits, rules.generation, rules.checks


@pytest.mark.parametrize("each", HPC, ids=lambda each: each.id)
def test_a_check_that_needs_the_benchmark_or_division_declares_it(each: Check) -> None:
    if each.needs_names:
        return
    context = cast("Context", Unnamed(find_round("hpc", "2.0")))
    for text in (each.bad, each.good):
        run = Run(parse_log(text.encode()).records)
        run.ordered = run.exact = False
        list(each.find(run, context))  # raises if the check needs more


class Places(dict[str, list[int]]):
    """The positions of each key, and the keys that were requested."""

    def __init__(self, where: dict[str, list[int]], asked: set[str]) -> None:
        super().__init__(where)
        self.asked = asked

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> list[int]:
        self.asked.add(key)
        return super().__getitem__(key)


class Asked(Run):
    """A run that records the keys that a constraint looks up."""

    __slots__ = ("asked",)

    def __init__(self, records: list[Record]) -> None:
        super().__init__(records)
        self.asked: set[str] = set()
        self.where = Places(self.where, self.asked)


def test_a_constraint_declares_every_key_that_it_looks_up() -> None:
    asked = 0
    # Order constraints depend only on earlier records, which do not change.
    order = (after, before, every_batch_from)
    records = [blank(key) for key in k.ALL.values() if key.type in ("int", "float")]
    for constraint in (each for each in words() if not isinstance(each, order)):
        run = Asked(records)
        run.position = len(records)
        for value in (1024, 0.5, [1, 2]):
            with contextlib.suppress(Exception):  # wrong types
                constraint.holds(Record("x", 0.0, value, {"samples_count": 8}), run)
        assert run.asked - {"init_start"} <= {*constraint.needs()}, constraint
        asked += bool(run.asked)
    assert asked > 50


def words() -> Iterator[Constraint]:
    """Yield the constraints in the tables of all rounds that a guard judges at once."""
    for rules in rounds.values():
        for name in rules.benchmarks if rules.generation == "mllog" else ():
            for division in ("closed", "open"):
                for row in (row for scope in rules.scopes(division, name) for row in scope.rows):
                    yield from (*row.each, *row.first, *row.some, *(row.policy or ()))


def test_50000_records_without_rules_need_less_than_one_cpu_second() -> None:
    judged = guard(good())
    records = [Record("train_loss", 1.75e12 + n, 3.0, {"step": n}) for n in range(50_000)]
    began = time.process_time()
    for record in records:
        judged(record)
    assert time.process_time() - began < 1


def test_the_cost_of_a_record_does_not_grow_with_the_log() -> None:
    judged = guard(good())
    records = parse_log(good().bytes()).records
    for record in records[: good().where("block_start")[0]]:
        judged(record)
    first = next(record for record in records if record.key == "eval_accuracy")
    spent = []
    for part in range(4):
        many = [
            msgspec.structs.replace(
                first,
                value=3.5,
                time_ms=first.time_ms + n,
                metadata={"samples_count": 12_672 * (n + 1)},
            )
            for n in range(part * 2000, part * 2000 + 2000)
        ]
        began = time.process_time()
        for record in many:
            judged(record)
        spent.append(time.process_time() - began)
    assert spent[-1] < 4 * spent[0] + 0.1
