"""Checks of value types and of misspelled keys."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import isfinite
from operator import itemgetter
from typing import Any

from podium.logging_spec import keys as k
from podium.logging_spec.reader.record import Record
from podium.rules.checks import Context, check
from podium.rules.checks.excerpt import at
from podium.rules.checks.points import POSITIONS
from podium.rules.checks.watch import on, once
from podium.rules.citations import LIBRARY
from podium.rules.constraints.bounds import near_whole
from podium.rules.constraints.formula import show, show_logged
from podium.rules.constraints.members import part
from podium.rules.finding import Severity, StatedBy
from podium.rules.run import Run, as_number, metadata_of
from podium.rules.table import Violation

CLOSED = ("closed",)

_PLAIN = {int, float}

NUMERIC = frozenset(
    name
    for name, key in k.ALL.items()
    if key.type in ("int", "float") and key.role in ("hyperparameter", "disclosure", "statistic")
)
"""Keys whose value is one number."""

COMPARED = NUMERIC.union(
    ("eval_accuracy", "eval_error", "averaged_validation_loss"),
    (key.name for key in k.ALL.values() if key.role == "hyperparameter" and key.type == "any"),
)
"""Keys whose value is one number or several numbers."""


OUTCOMES = frozenset(("eval_accuracy", "eval_error", "averaged_validation_loss"))
"""Keys that rules compare with a target: a number, or several numbers in a list or an object."""

_WITH_TYPE = NUMERIC | OUTCOMES | {k.OPT_BASE_LEARNING_RATE.name}
"""Keys that log.wrong-type checks."""

COUNTS = frozenset(
    name
    for name, key in k.ALL.items()
    if key.type == "int" and key.role in ("hyperparameter", "disclosure")
)
"""Keys whose value counts something."""


def _fraction(_: Run, record: Record) -> bool:
    value = record.value
    # Another check reports numbers that are not finite
    return type(value) is float and isfinite(value) and not near_whole(value)


def _odd_numbers(value: Any) -> bool:
    """Whether a value is not a number, or has a member that is not a number."""
    if isinstance(value, float):
        return not isfinite(value)
    # Mask R-CNN's quality is an object of two numbers, some hyperparameters are lists
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, list) and any(
        isinstance(part, float) and not isfinite(part) for part in value
    )


def of_all(faults: list[int], indices: list[int]) -> str:
    """The number of bad records, if the key has more than one record."""
    return f" ({len(faults)} of {len(indices)} records)" if len(indices) > 1 else ""


def _odd(_: Run, record: Record) -> bool:
    return _odd_numbers(record.value)


@check(
    "log.not-a-number",
    says="values that rules compare are finite numbers",
    cites=f"{LIBRARY}, value",
    stated_by=StatedBy.PODIUM,
    bad=at(1, "eval_accuracy", float("nan"), samples_count=12_288),
    good=at(1, "eval_accuracy", 3.3, samples_count=12_288),
    watches=(on(*sorted(COMPARED), when=_odd),),
)
def not_a_number(run: Run, _: Context) -> Iterator[Violation]:
    """No number is less or greater than NaN, so NaN passes one bound and fails the next.

    JSON has neither NaN nor Infinity.
    """
    # Python's JSON decoder, which the official verifier uses, also accepts NaN and Infinity
    if run.plain_json:
        return
    records = run.records
    for key, indices in run.where.items():
        if key in COMPARED:
            faults = [i for i in indices if _odd_numbers(records[i].value)]
            if faults:
                value = records[faults[0]].value
                yield Violation(
                    faults[0],
                    f"{key} is {show_logged(value)}{of_all(faults, indices)}; must be a finite "
                    "number",
                    "a finite number",
                    show_logged(value),
                    f"find out why {key} is not a number",
                )


@check(
    "log.misspelt-key",
    says="keys are spelled as in the logging rules",
    cites=f"{LIBRARY}, key",
    stated_by=StatedBy.PODIUM,
    bad=at(1, "global_batchsize", 32),
    good=at(1, "global_batch_size", 32),
)
def misspelt_key(run: Run, _: Context) -> Iterator[Violation]:
    """An unknown key is ignored, so its value counts as not logged.

    If the standard key is logged as well, the other key is a separate one.
    """
    for key, standard in _misspelt(tuple(run.where)):
        yield Violation(
            run.where[key][0],
            f"the key is {show(key)}; must be {standard} if that key is intended",
            standard,
            key,
            f"log it as {standard}",
        )


@lru_cache(maxsize=256)
def _misspelt(keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """(key, the standard key that it resembles); all runs of one program log the same keys."""
    unknown = [(key, k.nearest(key)) for key in keys if key not in k.ALL]
    return tuple(
        (key, standard.name) for key, standard in unknown if standard and standard.name not in keys
    )


def _is_number(value: Any) -> bool:
    # A few published logs put a single learning rate in a list
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return type(value) in (int, float)


def _typed(key: str, value: Any) -> bool:
    """Whether a value has a type that the rules of its key accept."""
    if key in OUTCOMES:
        # Mask R-CNN's quality is an object of two numbers
        parts = [*value.values()] if isinstance(value, dict) else [value]
        return all(type(part) in _PLAIN for part in parts)
    if key == k.GLOBAL_BATCH_SIZE.name:
        return type(value) in _PLAIN
    if key == k.OPT_BASE_LEARNING_RATE.name:
        # A number, or several; a string is the printed form of one
        return not isinstance(value, str)
    return value is None or _is_number(value)


def _no_number(_: Run, record: Record) -> bool:
    if not _typed(record.key, record.value) or type(record.value) is dict:
        return True
    return record.key in OUTCOMES and any(_odd_position(record, name) for name in POSITIONS)


def _odd_position(record: Record, name: str) -> bool:
    """Whether a record's metadata has a position that is not a number."""
    return type(metadata_of(record).get(name, 0)) not in _PLAIN


def _kind(value: Any) -> str:
    return ", a string" if isinstance(value, str) else ""


def _advice(value: Any) -> str:
    if as_number(value) is not None:
        return ", without quotes"
    return ", such as tensor.item()" if isinstance(value, str) and "(" in value else ""


@check(
    "log.wrong-type",
    says="a number is logged as a number",
    cites=f"{LIBRARY}, value",
    severity=Severity.ERROR,
    stated_by=StatedBy.PODIUM,
    bad=at(1, "gradient_accumulation_steps", "4"),
    good=at(1, "gradient_accumulation_steps", 4),
    watches=(on(*sorted(_WITH_TYPE), when=_no_number),),
)
def wrong_type(run: Run, context: Context) -> Iterator[Violation]:
    """A value that is not a number fits no bound, and the official verifier crashes on some.

    A list with a single number counts as that number; a number in quotes does not. The formats
    before 0.7 do not distinguish the two.
    """
    if context.generation != "mllog":
        return
    records = run.records
    for key, indices in run.where.items():
        # Nearly always all are numbers, and testing all at once is faster
        if key not in _WITH_TYPE:
            continue
        if not {type(records[index].value) for index in indices} <= _PLAIN:
            # One finding per key: thousands of records may have the same fault
            values = {index: records[index].value for index in indices}
            allows_parts = key not in OUTCOMES or _in_parts(context)
            faults = [
                index
                for index, value in values.items()
                if not _typed(key, value)
                or not (allows_parts or type(value) is not dict or _odd_numbers(value))
            ]
            if faults:
                yield _not_a_number(faults, indices, key, records[faults[0]].value)
        if key in OUTCOMES:
            yield from _wrong_positions(run, key, indices)


def _in_parts(context: Context) -> bool:
    """Whether the quality of the benchmark may be an object of numbers."""
    quality = None if context.benchmark is None else context.benchmark.quality
    return quality is None or any(isinstance(constraint, part) for constraint in quality.some)


def _not_a_number(faults: list[int], indices: list[int], label: str, value: Any) -> Violation:
    key = k.known(label)
    return Violation(
        faults[0],
        f"{label} is {show_logged(value)}{_kind(value)}{of_all(faults, indices)}; must be a number",
        "a number",
        show_logged(value),
        f"log {label} as a number{_advice(value)}" + (f": {key.meaning}" if key else ""),
    )


def _wrong_positions(run: Run, key: str, indices: list[int]) -> Iterator[Violation]:
    """Outcomes whose metadata give a training position that is not a number."""
    for name in POSITIONS:
        faults = [index for index in indices if _odd_position(run.records[index], name)]
        if faults:
            value = metadata_of(run.records[faults[0]])[name]
            yield _not_a_number(faults, indices, f"{name} of {key}", value)


@check(
    "log.not-whole",
    says="a number of batches, samples, steps or devices is a whole number",
    cites=f"{LIBRARY}, value",
    bad=at(1, "global_batch_size", 8.5),
    good=at(1, "global_batch_size", 8.0),
    watches=(on(*sorted(COUNTS), when=_fraction),),
)
def not_whole(run: Run, _: Context) -> Iterator[Violation]:
    """A step cannot train on half a sample: a fraction is a mistake, or a quotient was logged."""
    for key in COUNTS.intersection(run.where):
        indices = run.where[key]
        faults = [index for index in indices if _fraction(run, run.records[index])]
        if faults:
            value = run.records[faults[0]].value
            yield Violation(
                faults[0],
                f"{key} is {show_logged(value)}; must be a whole number",
                "a whole number",
                value,
                f"log the value that the run used: {k.ALL[key].meaning}",
            )


_EVENT_TYPES = {
    name: k.INTERVAL_START if key.role == "interval_start" else k.INTERVAL_END
    for name, key in k.ALL.items()
    if key.role in ("interval_start", "interval_end")
}
"""The event type of each key that begins or ends an interval."""


@check(
    "log.wrong-event-type",
    says="keys that begin or end an interval have the event type INTERVAL_START or INTERVAL_END",
    cites=f"{LIBRARY}, event_type",
    # A note: one accepted result in five has such records
    severity=Severity.NOTE,
    bad=':::MLLOG {"key": "run_start", "value": null, "metadata": {}, "time_ms": 1735689600000, '
    '"event_type": "POINT_IN_TIME"}',
    good=':::MLLOG {"key": "run_start", "value": null, "metadata": {}, "time_ms": 1735689600000, '
    '"event_type": "INTERVAL_START"}',
    watches=(on(*_EVENT_TYPES, when=once),),
)
def wrong_event_type(run: Run, context: Context) -> Iterator[Violation]:
    """A program that reads logs by event types misses the intervals that such records begin or end.

    Podium uses the keys. Records without a type belong to other dialects.
    """
    if context.generation != "mllog":
        return
    records, faults = run.records, []
    where = run.where
    for key in _EVENT_TYPES.keys() & where.keys():
        # The records of a key come from one call: the first represents all of them
        actual, expected = records[where[key][0]].event_type, _EVENT_TYPES[key]
        if actual != expected and actual is not None:
            faults.append((where[key][0], key, actual, expected))
    if faults:
        faults.sort(key=itemgetter(0))
        index, key, actual, expected = faults[0]
        other_keys = ", ".join(name for _, name, _, _ in faults[1:])
        yield Violation(
            index,
            f"the event_type of {key} is {show(actual)}; must be {expected}"
            + (f" (also wrong: {other_keys})" if other_keys else ""),
            expected,
            show(actual),
            "log a beginning with the start() call of the logger and an end with its end() call",
        )


CHECKS = (
    not_a_number,
    misspelt_key,
    wrong_type,
    wrong_event_type,
    not_whole,
)
