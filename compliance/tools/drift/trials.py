"""Logs that violate, or may violate, each row of a table, to find different verdicts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any

import msgspec

from podium.compliance.rulebook.tables.candidates import COMMON_VALUES
from podium.compliance.rulebook.tables.fitting_values import all_of
from podium.compliance.rulebook.tables.log_kinds import LogKind, effective
from podium.compliance.rulebook.tables.whole_log import PHASES, good_records, line_of, record_of
from podium.compliance.tools.drift.installed import KeyRule
from podium.logging_spec.reader.record import Record
from podium.rules.constraints.constraint import near, needs_of
from podium.rules.run import Run

MOST = 24
"""Number of values to try for one constraint; the values nearest to its bounds come first."""

ODD: tuple[Any, ...] = (None, "other", "", -1, 0, 1, 0.5, 1e9, True, [1, 2])


class Trial(msgspec.Struct, frozen=True):
    """One log: the changed key, and the change in words; the valid log has no key."""

    key: str
    change: str
    records: tuple[Record, ...]

    def log(self, log_kind: LogKind) -> bytes:
        """The content of the log file."""
        generation = log_kind.rules.generation
        lines = (line_of(record, generation, log_kind.benchmark) for record in self.records)
        return b"".join(line + b"\n" for line in lines)


def trials(
    log_kind: LogKind, keys: Iterable[str], official_rules: Mapping[str, KeyRule]
) -> Iterator[Trial]:
    """The valid log, then the logs with one changed key, for each key.

    `official_rules` are the rules of the other checker, whose bounds are tried too.
    """
    valid_records = good_records(log_kind)
    yield Trial("", "a log that satisfies every rule", valid_records)
    rows = effective(log_kind)
    for key in keys:
        rule = official_rules.get(key, KeyRule())
        positions = [i for i, record in enumerate(valid_records) if record.key == key]
        if not positions:
            yield from _added(valid_records, key, rule)
            continue
        yield Trial(key, "not logged", tuple(r for r in valid_records if r.key != key))
        yield from _repeated(valid_records, key, positions[0])
        tried: set[str] = set()
        constraints = all_of(rows[key][1]) if key in rows else ()
        run = Run([*valid_records])
        for constraint in constraints:
            run.position = positions[0]
            variations = constraint.variations(valid_records[positions[0]], run)
            yield from _changed(valid_records, key, islice(_safe(variations), MOST), tried)
        first = valid_records[positions[0]]
        values = (*ODD, *islice(_literals(rule), MOST))
        others = (msgspec.structs.replace(first, value=value) for value in values)
        yield from _changed(valid_records, key, others, tried)
        yield from _without_members(valid_records, key, first)
        if key in PHASES:
            yield from _moved(valid_records, key)


def _safe(records: Iterator[Record]) -> Iterator[Record]:
    """The records up to the first that cannot be made because a formula needs a missing key."""
    try:
        yield from records
    except Exception:
        return


def _changed(
    valid_records: Sequence[Record], key: str, records: Iterable[Record], tried: set[str]
) -> Iterator[Trial]:
    """Logs in which all records of a key get the value, metadata and namespace of another."""
    for other in records:
        content = repr((other.value, other.metadata, other.namespace, other.time_ms))
        if content in tried:
            continue
        tried.add(content)
        first = next(record for record in valid_records if record.key == key)
        shift = other.time_ms - first.time_ms
        same = other.metadata == first.metadata

        def like(
            record: Record, other: Record = other, shift: float = shift, same: bool = same
        ) -> Record:
            return msgspec.structs.replace(
                record,
                value=other.value,
                metadata=record.metadata if same else other.metadata,
                namespace=other.namespace,
                time_ms=record.time_ms + shift,
            )

        changed_log = tuple(
            like(record) if record.key == key else record for record in valid_records
        )
        yield Trial(key, _words(other, first), changed_log)


def _words(other: Record, first: Record) -> str:
    if other.value != first.value or type(other.value) is not type(first.value):
        return f"value {other.value!r}"
    if other.metadata != first.metadata:
        return f"metadata {other.metadata!r}"
    if other.time_ms != first.time_ms:
        return f"{(other.time_ms - first.time_ms) / 60_000:+g} minutes"
    return f"value {other.value!r}"


def _added(valid_records: Sequence[Record], key: str, rule: KeyRule) -> Iterator[Trial]:
    """Logs with a key that our tables do not have."""
    position = next(
        i for i, record in enumerate(valid_records) if record.key in ("init_stop", "run_start")
    )
    values = dict.fromkeys(map(repr, (*islice(_literals(rule), MOST), *ODD, *COMMON_VALUES)))
    for text in values:
        value = ast.literal_eval(text)
        record = record_of(key, value, {}, int(valid_records[position].time_ms))
        yield Trial(
            key, f"value {text}", (*valid_records[:position], record, *valid_records[position:])
        )


def _repeated(valid_records: Sequence[Record], key: str, position: int) -> Iterator[Trial]:
    first = valid_records[position]
    for value in (first.value, "another"):
        repeated = msgspec.structs.replace(first, value=value)
        label = "the same value" if value is first.value else "another value"
        records = (*valid_records[: position + 1], repeated, *valid_records[position + 1 :])
        yield Trial(key, f"logged again, with {label}", records)


def _without_members(valid_records: Sequence[Record], key: str, first: Record) -> Iterator[Trial]:
    for name in first.metadata:
        records = tuple(
            msgspec.structs.replace(
                record, metadata={n: v for n, v in record.metadata.items() if n != name}
            )
            if record.key == key
            else record
            for record in valid_records
        )
        yield Trial(key, f"no {name} in its metadata", records)


def _moved(valid_records: Sequence[Record], key: str) -> Iterator[Trial]:
    key_records = tuple(record for record in valid_records if record.key == key)
    other_records = tuple(record for record in valid_records if record.key != key)
    yield Trial(key, "logged first", (*key_records, *other_records))
    yield Trial(key, "logged last", (*other_records, *key_records))


_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"|(?<![\w.])\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?")


def _literals(rule: KeyRule) -> Iterator[Any]:
    """The numbers and strings in tests, and numbers close to them."""
    for test in (*rule.each, *rule.first, *rule.some):
        for text in _LITERAL.findall(test):
            try:
                value = ast.literal_eval(text)
            except (SyntaxError, ValueError):
                continue
            if value not in ("value", "metadata"):
                yield from near(value) if not isinstance(value, str) else (value,)


class Batch(msgspec.Struct, frozen=True):
    """Trials of different keys, and the log with all their changes."""

    trials: tuple[Trial, ...]
    whole: Trial


def batches(
    log_kind: LogKind, trials: Iterable[Trial], official_rules: Mapping[str, KeyRule]
) -> Iterator[Batch]:
    """The valid log first, then all others: alone, or with as many others as possible."""
    bound = _bound(log_kind, official_rules)
    valid_trial: Trial | None = None
    free: dict[str, list[Trial]] = {}
    for trial in trials:
        valid_trial = valid_trial or trial
        if not trial.key or trial.key in bound:
            yield Batch((trial,), trial)
        else:
            free.setdefault(trial.key, []).append(trial)
    for turn in zip_longest(*free.values()):
        chosen = tuple(trial for trial in turn if trial is not None)
        assert valid_trial is not None
        yield Batch(chosen, _merged(valid_trial.records, chosen))


def _bound(log_kind: LogKind, official_rules: Mapping[str, KeyRule]) -> frozenset[str]:
    """Keys that other rows of either checker use too, or whose order matters."""
    rows = {key: row for key, (_, row) in effective(log_kind).items()}
    bound = {*PHASES, *(key for key in (*rows, *official_rules) if "submission_" in key)}
    bound |= {key for key, _ in log_kind.choices}
    for key, row in rows.items():
        bound |= needs_of(all_of(row)) - {key}
    for key, rule in official_rules.items():
        words = {*re.findall(r"\w+", rule.text)} - {key}
        bound |= words & official_rules.keys()
    return frozenset(bound | {"global_batch_size", "opt_name"})


def _merged(valid_records: tuple[Record, ...], trials: tuple[Trial, ...]) -> Trial:
    changed = {trial.key: [r for r in trial.records if r.key == trial.key] for trial in trials}
    # Keys that the valid log lacks have no order: they come first
    records = [r for key in changed.keys() - {r.key for r in valid_records} for r in changed[key]]
    for record in valid_records:
        if record.key in changed:
            # All records of a key at the place of the first one
            records += changed[record.key]
            changed[record.key] = []
        else:
            records.append(record)
    return Trial("", "several", tuple(records))
