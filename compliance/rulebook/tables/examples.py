"""An example for each rule: records that violate it, and the same corrected; both are tested.

No example is written by hand: candidates come from the bounds of the constraints, and the row
itself decides which of them are wrong or right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from podium.compliance.rulebook.tables.candidates import COMMON_VALUES, at, blank, otherwise
from podium.logging_spec import keys as k
from podium.logging_spec.reader.record import Record
from podium.rules.constraints import order
from podium.rules.constraints.constraint import Constraint
from podium.rules.finding import StatedBy
from podium.rules.run import NotLogged, Run
from podium.rules.table import Row

MOST_NEEDS = 8
"""Maximum other keys of an example."""


LATER_S = 18_000
"""Seconds after the start for records that must come later."""


@dataclass(frozen=True, slots=True)
class Example:
    """Records that break a rule, and records that obey it; no bad record means an absence."""

    bad: tuple[Record, ...]
    good: tuple[Record, ...]


def example(row: Row, rows: Mapping[str, Row], target: bool = False) -> Example | None:
    """An example of a row (or of its target); `rows` has the rows of other keys."""
    return _Maker(row, rows, target).make()


class _Maker:
    def __init__(self, row: Row, rows: Mapping[str, Row], target: bool) -> None:
        self.row, self.known, self.target = row, rows, target
        self.policy = row.as_policy
        # Without a bound of the verifier, only the policy's bound can be broken
        self.judged = self.policy if row.stated_by is StatedBy.POLICY or not row.each else row
        self.some = (*row.some, *self.policy.some) if target else ()
        self.all = (*row.each, *self.policy.each, *row.first, *self.some)
        self.before: list[Record] = []
        self.after: list[Record] = []
        self.added = {row.name}
        # With fewer, the count would be a second fault
        self.count = max(1, row.times.least)

    def make(self) -> Example | None:
        """The example, or None if the rule requires nothing or no candidate shows it."""
        if any(type(constraint).__name__ == "in_sequence" for constraint in self.all):
            return self._in_life()
        for needed_key in dict.fromkeys(
            key for constraint in self.all for key in constraint.needs()
        ):
            self._add(needed_key)
        self._order()
        # Only its evaluation shows which key a formula lacks next
        for _ in range(MOST_NEEDS):
            try:
                return self._attempt()
            except NotLogged as missing:
                if not self._add(missing.key):
                    return None
        return None

    # --- other records ---

    def _add(self, name: str) -> bool:
        """Log another key first, with a value that its row allows."""
        key = k.known(name)
        if key is None or name in self.added:
            return False
        # Recorded before the keys that it needs: two may need each other
        self.added.add(name)
        record = at(blank(key), len(self.before))
        row = self.known.get(name)
        # An example that the policy rejects for another key is useless
        constraints = () if row is None else (*row.each, *(row.policy or ()))
        if constraints:
            for needed_key in dict.fromkeys(
                key for constraint in constraints for key in constraint.needs()
            ):
                self._add(needed_key)
            run = Run([*self.before, record])
            run.position = len(self.before)
            match = _search(constraints, record, run)
            record = record if match is None else match
        self.before.append(record)
        return True

    def _order(self) -> None:
        """Log the keys that must come before or after."""
        for constraint in self.all:
            other_key = getattr(constraint, "key", None)
            if isinstance(constraint, order.init_within):
                self._add("submission_division")
                self._add("init_start")
            elif isinstance(constraint, order.before):
                key = k.known(constraint.key)
                if key is not None and all(r.key != key.name for r in self.after):
                    self.after.append(at(blank(key), LATER_S + len(self.after)))
            elif isinstance(other_key, str):
                self._add(other_key)

    def _run(self, record: Record) -> Run:
        run = Run([*self.before, record, *self.after])
        run.position = len(self.before)
        return run

    # --- the record itself ---

    def _attempt(self) -> Example | None:
        fresh = at(blank(self.row.key), MOST_NEEDS)
        good = _search(self.all, fresh, self._run(fresh))
        if good is None:
            return None
        bad_records = self._wrong(good) or self._moved(good) or self._miscounted(good)
        if bad_records is None:
            return None
        return Example(bad_records, (*self.before, *[good] * self.count, *self.after))

    def _in_life(self) -> Example | None:
        """For a rule about the whole sequence: a good run so far, and the record without it."""
        records = [
            _in_run(second, key, value, metadata)
            for second, (key, value, metadata) in enumerate(_LIFE)
        ]
        index = next((i for i, record in enumerate(records) if record.key == self.row.name), None)
        return None if index is None else Example((records[index],), tuple(records[: index + 1]))

    def _wrong(self, good: Record) -> tuple[Record, ...] | None:
        """The record with one constraint broken."""
        # A bound of 0 is not a useful target
        targets = sorted(
            self.some, key=lambda constraint: constraint.text().endswith((" 0", " 0.0"))
        )
        for constraint in targets or (*self.judged.each, *self.judged.first):
            for record in constraint.variations(good, self._run(good), COMMON_VALUES):
                records = (*self.before, *[record] * self.count, *self.after)
                if record != good and self._breaks(list(records)):
                    return records
        return None

    def _moved(self, good: Record) -> tuple[Record, ...] | None:
        """The record in the wrong place."""
        if self.target:
            return None
        for moved in ((good, *self.before, *self.after), (*self.before, *self.after, good)):
            if self._breaks(list(moved)):
                return moved
        return None

    def _miscounted(self, good: Record) -> tuple[Record, ...] | None:
        """The record logged too often or not often enough."""
        if self.target:
            return None
        if self.row.times.most == 1:
            other_record = otherwise(good)
            return (*self.before, good, other_record, *self.after)
        return (*self.before, *self.after) if self.row.times.least else None

    def _breaks(self, records: list[Record]) -> bool:
        run = Run(records)
        if not self.target:
            violations = self.judged.judge(run)
            # An absence has no position: a record itself must be at fault
            return any(violation.position is not None for violation in violations)
        judged = self.row if self.row.some else self.policy
        try:
            return not judged.judge(run) and bool(judged.judge_some(run))
        except Exception:
            return False


def _search(constraints: tuple[Constraint, ...], record: Record, run: Run) -> Record | None:
    """The record changed until every constraint holds; None if that fails."""
    if not constraints or not (failing := _failing(constraints, record, run)):
        return record
    pool = [value for constraint in constraints for value in constraint.candidates(run)] + [
        *COMMON_VALUES
    ]
    for _ in range(2 * len(constraints)):
        variation = _better(failing, constraints, record, run, pool)
        if variation is None:
            return None
        record = variation
        failing = _failing(constraints, record, run)
        if not failing:
            return record
    return None


def _better(
    failing: list[Constraint],
    constraints: tuple[Constraint, ...],
    record: Record,
    run: Run,
    pool: list[Any],
) -> Record | None:
    """The variation with the fewest unsatisfied constraints; None if none is an improvement."""
    best_record, minimum = None, len(failing)
    for variation in _variations_of(failing, record, run, pool):
        failing_count = len(_failing(constraints, variation, run))
        if failing_count < minimum:
            best_record, minimum = variation, failing_count
        if not failing_count:
            break
    return best_record


def _variations_of(
    failing: list[Constraint], record: Record, run: Run, pool: list[Any]
) -> Iterator[Record]:
    for constraint in failing:
        yield from constraint.variations(record, run, pool)


def _failing(constraints: tuple[Constraint, ...], record: Record, run: Run) -> list[Constraint]:
    index = run.position
    run.records[index] = record
    failing = []
    for constraint in constraints:
        run.position = index
        try:
            if constraint.holds(record, run):
                continue
        except NotLogged:
            raise
        except Exception:
            pass
        failing.append(constraint)
    run.position = index
    return failing


_LIFE: tuple[tuple[str, Any, dict[str, Any]], ...] = (
    ("init_start", None, {}),
    ("init_stop", None, {}),
    ("run_start", None, {}),
    ("block_start", None, {"first_epoch_num": 1, "epoch_count": 1}),
    ("epoch_start", None, {"epoch_num": 1}),
    ("save_model", {"iteration": 1}, {}),
    ("epoch_stop", None, {"epoch_num": 1}),
    ("eval_start", None, {"epoch_num": 1}),
    ("eval_accuracy", 0.76, {"epoch_num": 1}),
    ("eval_stop", None, {"epoch_num": 1}),
    ("eval_result", 0.5, {"iteration": 1, "timestamp": 3}),
    ("block_stop", None, {"first_epoch_num": 1}),
    ("run_stop", None, {"status": "success"}),
)


def _in_run(second: int, key: str, value: Any, metadata: dict[str, Any]) -> Record:
    fresh = blank(k.ALL[key])
    return at(msgspec.structs.replace(fresh, value=value, metadata=metadata), second)
