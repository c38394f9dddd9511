"""Records that may obey or break a constraint, made from its own bounds, to be tried out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from podium.logging_spec import keys as k
from podium.logging_spec.keys import Key
from podium.logging_spec.reader.record import Record
from podium.rules.constraints import benchmark_constraints as s
from podium.rules.constraints import bounds as c
from podium.rules.constraints import formula, members, order
from podium.rules.run import NotLogged, Run

START_MS = 1_735_689_600_000
"""When the runs of examples begin: 2025-01-01."""

COMMON_VALUES: tuple[Any, ...] = (
    *(1, 0, -1, 0.5, 1.5, 2, 3, 100, 1024, 1e9),
    *("", "other", True, False, None),
    *([], [1], [1, 2], [1, 50], [1, 55], [1, 52], {"success": True}),
)
"""Tried after the values that a constraint itself suggests."""

DEFAULTS: dict[str, Any] = {
    "int": 100,
    "float": 0.1,
    "bool": True,
    "str": "example",
    "list": [1, 2],
    "object": {},
}
"""The value of a key that no rule bounds, by the key's type."""

USUAL: dict[str, Any] = {
    "global_batch_size": 1024,
    "opt_base_learning_rate": 0.001,
    "num_prompts_per_step": 64,
    "submission_org": "Example Ltd",
    "submission_platform": "example_system",
    "submission_poc_email": "results@example.org",
}


def usual_value(key: Key) -> Any:
    """A plausible value of a key."""
    return USUAL.get(key.name, DEFAULTS.get(key.type))


def blank(key: Key) -> Record:
    """A record of a key as it is usually logged."""
    value = None if key.role.startswith("interval") else usual_value(key)
    event = {"interval_start": k.INTERVAL_START, "interval_end": k.INTERVAL_END}
    return Record(key.name, START_MS, value, {}, event.get(key.role, k.POINT_IN_TIME), "")


def at(record: Record, seconds: int) -> Record:
    """The record, so many seconds after the start."""
    return msgspec.structs.replace(record, time_ms=START_MS + 1000 * seconds)


def otherwise(record: Record) -> Record:
    """The same key with another value, a second later."""
    value: Any = {"int": 101, "float": 0.2, "str": "another"}.get(_type(record.value))
    return msgspec.structs.replace(record, value=value, time_ms=record.time_ms + 1000)


def _type(value: Any) -> str:
    known = {int: "int", float: "float", str: "str"}
    return known.get(type(value), "")


def needs(constraint: c.Constraint) -> Iterator[str]:
    """The keys that a constraint's formulas look at."""
    for value in constraint.parts():
        if isinstance(value, formula.Formula):
            yield from value.needs
        elif isinstance(value, c.Constraint):
            yield from needs(value)


# --- values ---------------------------------------------------------------------------------------


def values(constraint: c.Constraint, run: Run) -> Iterator[Any]:
    """Values near a constraint's bounds; raises NotLogged where a formula lacks a key."""
    yield from _lists(constraint, run)
    for value in constraint.parts():
        if isinstance(value, c.Constraint):
            yield from values(value, run)
        elif isinstance(value, formula.Formula):
            yield from _near(_computed(value, run))
        elif isinstance(constraint, c.product_equals):
            continue
        else:
            yield from _near(value)
    if isinstance(constraint, c.product_equals):
        yield from _near(_computed(constraint.bound / constraint.factor, run))
    if isinstance(constraint, s.within_factors):
        yield from _near(_computed(constraint.unit * constraint.low, run))
    if isinstance(constraint, s.batch_is_prompts_times):
        yield run.logged("global_batch_size") / run.logged("num_prompts_per_step")


def _lists(constraint: c.Constraint, run: Run) -> Iterator[Any]:
    """Values of the words that are about lists."""
    if isinstance(constraint, s.stretched):
        scale = constraint.batch / run.logged("global_batch_size") if constraint.batch else 1
        yield [round(boundary * scale) for boundary in constraint.boundaries]
        yield [round(boundary * scale * 1.25) for boundary in constraint.boundaries]
    elif isinstance(constraint, s.cube):
        yield from ([constraint.side] * 3, [constraint.side * 2] * 3)
    elif isinstance(constraint, s.each_item):
        for inner in constraint.inner:
            yield from ([value] for value in values(inner, run))


def _computed(formula: formula.Formula, run: Run) -> Any:
    try:
        return formula.compute(run)
    except NotLogged:
        raise
    except Exception:
        return None


def _near(value: Any) -> Iterator[Any]:
    """The value itself first, then others to either side of it."""
    if isinstance(value, bool):
        yield from (value, not value)
    elif isinstance(value, int):
        half = [value // 2] if value % 2 == 0 and value else []
        yield from (value, *half, value + 1, value - 1, value * 2)
    elif isinstance(value, float):
        yield from (value, value / 2, value * 2, value + 1, value - 1, value * 1.5, value * 3)
    elif isinstance(value, str):
        yield from (value, "other")


# --- records --------------------------------------------------------------------------------------


def variations(
    constraint: c.Constraint, record: Record, run: Run, pool: Iterable[Any] = ()
) -> Iterator[Record]:
    """Records like the given one that a constraint may judge otherwise."""
    if isinstance(constraint, members.Has):
        yield from _with_members(record, constraint.names)
    elif isinstance(constraint, members.value_has):
        yield from _value_members(constraint.name, record)
    elif isinstance(constraint, members.if_given):
        given = with_metadata(record, constraint.name, 1)
        yield given
        yield from variations(constraint.then, given, run, pool)
    elif isinstance(constraint, members.part):
        for value in (*values(constraint.inner, run), *pool):
            yield from _with_part(constraint.path, record, value)
    elif isinstance(constraint, s._OnSamples):
        for value in (*values(constraint, run), *pool):
            yield with_metadata(record, "samples_count", value)
    elif isinstance(constraint, order.init_within):
        for minutes in (1.0, constraint.closed + 1, (constraint.open or 0) + constraint.closed):
            yield msgspec.structs.replace(record, time_ms=record.time_ms + minutes * 60_000)
    else:
        for value in (*values(constraint, run), *pool):
            yield msgspec.structs.replace(record, value=value)
        if type(constraint).holds is not c.Constraint.holds:
            yield from _elsewhere(constraint, record, run)


def _elsewhere(constraint: c.Constraint, record: Record, run: Run) -> Iterator[Record]:
    """For words that look at neither value nor metadata: other names and times."""
    for value in values(constraint, run):
        if isinstance(value, str):
            yield msgspec.structs.replace(record, namespace=value)
    yield msgspec.structs.replace(record, time_ms=record.time_ms - 60_000)


def with_metadata(record: Record, name: str, value: Any) -> Record:
    """The record with one more member in its metadata."""
    return msgspec.structs.replace(record, metadata=record.metadata | {name: value})


def _with_members(record: Record, names: tuple[str, ...]) -> Iterator[Record]:
    usual = {"status": "success", "epoch_num": 1, "tensor": "w", "first_epoch_num": 1}
    for name in names:
        yield with_metadata(record, name, usual.get(name, 1024))
    rest = {name: value for name, value in record.metadata.items() if name not in names}
    yield msgspec.structs.replace(record, metadata=rest)


def _value_members(name: str, record: Record) -> Iterator[Record]:
    held = record.value if isinstance(record.value, dict) else {}
    yield msgspec.structs.replace(record, value=held | {name: 0.5})
    rest = {other: value for other, value in held.items() if other != name}
    yield msgspec.structs.replace(record, value=rest)


def _with_part(path: str, record: Record, value: Any) -> Iterator[Record]:
    where, _, name = path.partition(".")
    if path == "len(value)":
        if isinstance(value, int) and 0 <= value < 10:
            yield msgspec.structs.replace(record, value=list(range(1, value + 1)))
    elif where == "metadata":
        yield with_metadata(record, name, value)
    else:
        held = record.value if isinstance(record.value, dict) else {}
        yield msgspec.structs.replace(record, value=held | {name: value})
