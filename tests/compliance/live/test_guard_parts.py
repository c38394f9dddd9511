"""What the guard rests on: gates, needs, and a cost that does not grow."""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec

from podium.compliance.live.partial.gates import AT_END, GATES, unlisted
from podium.compliance.live.partial.needs import needs_of
from podium.logging_spec import keys as k
from podium.logging_spec.reader.read import parse_log
from podium.logging_spec.reader.record import Record
from podium.rules import rounds
from podium.rules.constraints.benchmark_constraints import every_batch_from
from podium.rules.constraints.bounds import Constraint
from tests.compliance.live.test_guard import good, guard


def test_every_check_is_either_looked_at_again_or_left_for_the_end() -> None:
    for rules in rounds.values():
        assert unlisted(rules.checks) == [], rules.title
    assert not GATES.keys() & AT_END


def test_every_key_that_a_word_looks_up_is_declared() -> None:
    for constraint in words():
        looked_up = {n for each in vars(type(constraint)).values() for n in constants(each)}
        # The order of these follows the records before, which stay as they are.
        past = {"init_start", "run_start", "run_stop", "eval_accuracy", "samples_count"}
        if isinstance(constraint, every_batch_from):
            past.add("global_batch_size")
        assert looked_up & k.ALL.keys() - past <= needs_of(constraint), constraint


def words() -> Iterator[Constraint]:
    """One constraint of each kind and place in the tables of rounds that a guard judges at once."""
    for rules in rounds.values():
        for name in rules.benchmarks if rules.generation == "mllog" else ():
            for division in ("closed", "open"):
                for row in (row for scope in rules.scopes(division, name) for row in scope.rows):
                    yield from (*row.each, *row.first, *row.some, *(row.policy or ()))


def constants(function: object) -> set[str]:
    code = getattr(function, "__code__", None)
    return {c for c in code.co_consts if isinstance(c, str)} if code is not None else set()


def test_records_that_no_rule_is_about_cost_next_to_nothing() -> None:
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
