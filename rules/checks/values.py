"""Values of a type that no rule can work with, and misspelt keys."""

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
"""Keys whose value is one number, or several."""


OUTCOMES = frozenset(("eval_accuracy", "eval_error", "averaged_validation_loss"))
"""Keys that rules compare with a target: a number, or several in a list or an object."""

_WITH_TYPE = NUMERIC | OUTCOMES | {k.OPT_BASE_LEARNING_RATE.name}
"""Keys of which log.wrong-type is asked."""

COUNTS = frozenset(
    name
    for name, key in k.ALL.items()
    if key.type == "int" and key.role in ("hyperparameter", "disclosure")
)
"""Keys whose value counts something."""


def _fraction(_: Run, record: Record) -> bool:
    value = record.value
    # A number that is not finite is another check's
    return type(value) is float and isfinite(value) and not near_whole(value)


def _odd_numbers(value: Any) -> bool:
    """Whether a value is, or has among its members, something that is no number at all."""
    if isinstance(value, float):
        return not isfinite(value)
    # Mask R-CNN's quality is an object of two numbers, some hyperparameters are lists
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, list) and any(
        isinstance(part, float) and not isfinite(part) for part in value
    )


def of_all(bad: list[int], found: list[int]) -> str:
    """How many records are bad, where there is more than one of the key."""
    return f" ({len(bad)} of {len(found)} records)" if len(found) > 1 else ""


def _odd(_: Run, record: Record) -> bool:
    return _odd_numbers(record.value)


@check(
    "log.not-a-number",
    says="values that rules compare with are finite numbers",
    cites=f"{LIBRARY}, value",
    stated_by=StatedBy.PODIUM,
    bad=at(1, "eval_accuracy", float("nan"), samples_count=12_288),
    good=at(1, "eval_accuracy", 3.3, samples_count=12_288),
    watches=(on(*sorted(COMPARED), when=_odd),),
)
def not_a_number(run: Run, _: Context) -> Iterator[Violation]:
    """Nothing is less or greater than NaN, so it slips through one bound and fails the next.

    JSON itself has neither NaN nor Infinity.
    """
    # Python's JSON, which the official verifier reads with, also knows NaN and Infinity
    if run.plain_json:
        return
    records = run.records
    for key, found in run.where.items():
        if key in COMPARED:
            bad = [i for i in found if _odd_numbers(records[i].value)]
            if bad:
                value = records[bad[0]].value
                yield Violation(
                    bad[0],
                    f"{key} is {show_logged(value)}{of_all(bad, found)}; must be a finite number",
                    "a finite number",
                    show_logged(value),
                    f"find out why {key} is no number",
                )


@check(
    "log.misspelt-key",
    says="keys are spelt as the logging rules spell them",
    cites=f"{LIBRARY}, key",
    stated_by=StatedBy.PODIUM,
    bad=at(1, "global_batchsize", 32),
    good=at(1, "global_batch_size", 32),
)
def misspelt_key(run: Run, _: Context) -> Iterator[Violation]:
    """A key that no rule knows is read by nobody: what it says counts as not logged.

    Where the standard key is logged as well, the other is a key of its own.
    """
    for key, meant in _misspelt(tuple(run.where)):
        yield Violation(
            run.where[key][0],
            f"the key is {show(key)}; must be {meant} if that is what is meant",
            meant,
            key,
            f"log it as {meant}",
        )


@lru_cache(maxsize=256)
def _misspelt(keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """(key, the standard key that is meant): all runs of one program log the same keys."""
    unknown = [(key, k.nearest(key)) for key in keys if key not in k.ALL]
    return tuple((key, meant.name) for key, meant in unknown if meant and meant.name not in keys)


def _is_number(value: Any) -> bool:
    # A few published logs put a single learning rate in a list
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return type(value) in (int, float)


def _typed(key: str, value: Any) -> bool:
    """Whether a value has the type that rules about its key can work with."""
    if key in OUTCOMES:
        # Mask R-CNN's quality is an object of two numbers
        parts = [*value.values()] if isinstance(value, dict) else [value]
        return all(type(part) in _PLAIN for part in parts)
    if key == k.GLOBAL_BATCH_SIZE.name:
        return type(value) in _PLAIN
    if key == k.OPT_BASE_LEARNING_RATE.name:
        # A number, or several; a string is the print of one
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
    """What is no number can be compared with no bound: the official verifier crashes on some.

    A number in a list of its own is taken as that number, a number within quotes is not. The
    formats before 0.7 tell the two apart nowhere.
    """
    if context.generation != "mllog":
        return
    records = run.records
    for key, found in run.where.items():
        # Nearly always all are numbers, and that is quicker to tell at once
        if key not in _WITH_TYPE:
            continue
        if not {type(records[index].value) for index in found} <= _PLAIN:
            # One finding for a key: thousands of records may share the fault
            values = {index: records[index].value for index in found}
            parted = key not in OUTCOMES or _in_parts(context)
            bad = [
                index
                for index, value in values.items()
                if not _typed(key, value)
                or not (parted or type(value) is not dict or _odd_numbers(value))
            ]
            if bad:
                yield _not_a_number(bad, found, key, records[bad[0]].value)
        if key in OUTCOMES:
            yield from _wrong_positions(run, key, found)


def _in_parts(context: Context) -> bool:
    """Whether the quality of the benchmark may be an object of numbers."""
    quality = None if context.benchmark is None else context.benchmark.quality
    return quality is None or any(isinstance(each, part) for each in quality.some)


def _not_a_number(bad: list[int], found: list[int], what: str, value: Any) -> Violation:
    known = k.known(what)
    return Violation(
        bad[0],
        f"{what} is {show_logged(value)}{_kind(value)}{of_all(bad, found)}; must be a number",
        "a number",
        show_logged(value),
        f"log {what} as a number{_advice(value)}" + (f": {known.meaning}" if known else ""),
    )


def _wrong_positions(run: Run, key: str, found: list[int]) -> Iterator[Violation]:
    """Where the metadata of outcomes say in something else than a number how far training was."""
    for name in POSITIONS:
        bad = [index for index in found if _odd_position(run.records[index], name)]
        if bad:
            value = metadata_of(run.records[bad[0]])[name]
            yield _not_a_number(bad, found, f"{name} of {key}", value)


@check(
    "log.not-whole",
    says="what counts batches, samples, steps or devices is a whole number",
    cites=f"{LIBRARY}, value",
    bad=at(1, "global_batch_size", 8.5),
    good=at(1, "global_batch_size", 8.0),
    watches=(on(*sorted(COUNTS), when=_fraction),),
)
def not_whole(run: Run, _: Context) -> Iterator[Violation]:
    """No step trains on half a sample: a fraction is a slip, or what was logged is a quotient."""
    for key in COUNTS.intersection(run.where):
        found = run.where[key]
        bad = [index for index in found if _fraction(run, run.records[index])]
        if bad:
            value = run.records[bad[0]].value
            yield Violation(
                bad[0],
                f"{key} is {show_logged(value)}; must be a whole number",
                "a whole number",
                value,
                f"log what the run used: {k.ALL[key].meaning}",
            )


_EVENT_TYPES = {
    name: k.INTERVAL_START if key.role == "interval_start" else k.INTERVAL_END
    for name, key in k.ALL.items()
    if key.role in ("interval_start", "interval_end")
}
"""The event type of each key that begins or ends something."""


@check(
    "log.wrong-event-type",
    says="keys that begin or end an interval have the event type of a beginning or an end",
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
    """Who reads a log by its event types misses what such records begin or end.

    Podium itself goes by the keys. Records without any type are those of other dialects.
    """
    if context.generation != "mllog":
        return
    records, wrong = run.records, []
    where = run.where
    for key in _EVENT_TYPES.keys() & where.keys():
        # The records of a key come from one call: the first stands for all
        given, wanted = records[where[key][0]].event_type, _EVENT_TYPES[key]
        if given != wanted and given is not None:
            wrong.append((where[key][0], key, given, wanted))
    if wrong:
        wrong.sort(key=itemgetter(0))
        index, key, given, wanted = wrong[0]
        others = ", ".join(name for _, name, _, _ in wrong[1:])
        yield Violation(
            index,
            f"the event_type of {key} is {show(given)}; must be {wanted}"
            + (f" (likewise wrong: {others})" if others else ""),
            wanted,
            show(given),
            "log what begins with the call for starts, what ends with that for ends",
        )


CHECKS = (
    not_a_number,
    misspelt_key,
    wrong_type,
    wrong_event_type,
    not_whole,
)
