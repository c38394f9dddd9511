"""Reference convergence points as data: the points of this project, and other files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from podium.logging_spec.limits import BeyondLimitError, read_json
from podium.rules.package_data import read_beside
from podium.rules.run import as_number

SCHEMA = "podium.rcp/1"

FEWEST_VALUES = 3
"""Minimum number of values; fewer have no mean after the fastest and the slowest are dropped."""


class PointError(ValueError):
    """A file of points that cannot be used; the message says where and why."""


class Point(msgspec.Struct, frozen=True):
    """The convergence of the reference at one batch size.

    `to_converge` has one number per reference run, in the unit of the benchmark's logs (epochs,
    samples, tokens or steps). `unit` is the word of the source, usually epochs.
    """

    id: str
    benchmark: str
    batch_size: float
    to_converge: tuple[float, ...]
    unit: str = "epochs"
    hyperparameters: Mapping[str, Any] = msgspec.field(default_factory=dict)
    creator: str | None = None
    when: str | None = None
    platform: str | None = None
    precision: str | None = None
    reference_version: str | None = None


@cache
def _packaged(usage: str, benchmark: str) -> Mapping[str, tuple[Point, ...]]:
    try:
        data = read_beside(__spec__, f"data/{usage}/{benchmark}.json")
    except FileNotFoundError:
        return {}
    # Packaged files are known to be valid, and `parse_own` takes longer because it validates.
    document = msgspec.json.decode(data)
    points = []
    for entry in document["points"]:
        entry.setdefault("benchmark", document["benchmark"])
        entry["to_converge"] = tuple(entry["to_converge"])
        points.append(Point(**entry))
    return {
        name: tuple([points[i] for i in indices]) for name, indices in document["rounds"].items()
    }


def points_of(usage: str, round_name: str, benchmark: str) -> tuple[Point, ...]:
    """The points of one benchmark in one round, in the order of the source; perhaps none."""
    # Names come from logs and folders: a name with a slash must not become part of a path
    if not benchmark.isidentifier() or not usage.isidentifier():
        return ()
    return _packaged(usage, benchmark).get(round_name, ())


FIRST_LINE = 2
"""The line of the first point in a packaged file; each point has one line."""


def point_lines(usage: str, round_name: str, benchmark: str) -> tuple[int, ...]:
    """The line of each point of `points_of` in its file, in the same order."""
    if not points_of(usage, round_name, benchmark):
        return ()
    document = msgspec.json.decode(read_beside(__spec__, f"data/{usage}/{benchmark}.json"))
    return tuple([FIRST_LINE + index for index in document["rounds"][round_name]])


def rounds_with_points(usage: str, benchmark: str) -> tuple[str, ...]:
    """The rounds that have points for a benchmark, oldest first."""
    return tuple(_packaged(usage, benchmark)) if benchmark.isidentifier() else ()


def parse_own(document: Any) -> dict[str, tuple[Point, ...]]:
    """Points by round of a document in podium's format.

    `{"schema": "podium.rcp/1", "benchmark": NAME, "points": [POINT, …], "rounds": {ROUND: [INDEX,
    …]}}`, where a POINT is an object with `id`, `batch_size`, `to_converge` (a list of numbers)
    and, optionally, `benchmark`, `unit`, `hyperparameters`, `creator`, `when`, `platform`,
    `precision`, `reference_version`. Without `rounds`, all points have the round `*`: any round.
    """
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise PointError(f'no points: expected a JSON object with "schema": "{SCHEMA}"')
    name = document.get("benchmark", "")
    entries = document.get("points")
    if not isinstance(entries, list):
        raise PointError("points is missing; must be a list")
    points = [_own_point(entry, f"points[{i}]", name) for i, entry in enumerate(entries)]
    rounds = document.get("rounds", {"*": list(range(len(points)))})
    try:
        return {key: tuple(points[i] for i in indices) for key, indices in rounds.items()}
    except (AttributeError, IndexError, TypeError) as error:
        raise PointError("rounds must map a round to indices of points") from error


def parse_points(text: str | bytes, round_name: str = "*") -> tuple[Point, ...]:
    """The points in the text of a file, in podium's format or the official verifier's.

    The official form is an object of records by name, each with `Benchmark`, `BS`, `Hyperparams`
    and `Epochs to converge` (or `samples to converge`); `Creator`, `When`, `Platform`, `Precision`
    and `Version` are kept if present, and other members are ignored. In podium's format (see
    `parse_own`) the points of `round_name` are used, or the points for any round. Raises
    PointError.
    """
    try:
        document = read_json(text)
    except BeyondLimitError as error:
        raise PointError(f"the points cannot be read: {error}") from error
    except ValueError as error:
        raise PointError(f"the points are not valid JSON: {error}") from error
    if isinstance(document, dict) and "schema" in document:
        rounds = parse_own(document)
        # A file without rounds was written for this result, whatever its round
        return rounds.get(round_name) or rounds.get("*", ())
    if not isinstance(document, dict) or not document:
        raise PointError("no points: expected a JSON object of records by name")
    return tuple(_official_point(name, record) for name, record in document.items())


def _own_point(entry: Any, label: str, benchmark: str) -> Point:
    if not isinstance(entry, dict):
        raise PointError(f"{label} must be an object")
    label = f"{label} ({entry['id']})" if isinstance(entry.get("id"), str) else label
    optional = ("unit", "creator", "when", "platform", "precision", "reference_version")
    return Point(
        id=str(entry.get("id", label)),
        benchmark=str(entry.get("benchmark", benchmark)),
        batch_size=_batch_size(entry.get("batch_size"), f"{label}, batch_size"),
        to_converge=_values(entry.get("to_converge"), f"{label}, to_converge"),
        hyperparameters=entry.get("hyperparameters") or {},
        **{name: entry[name] for name in optional if entry.get(name) is not None},
    )


MEMBERS: Mapping[str, str] = {"epochs": "Epochs to converge", "samples": "samples to converge"}
"""The member of an official record with the numbers to converge, by unit."""


def _official_point(name: str, record: Any) -> Point:
    if not isinstance(record, dict):
        raise PointError(f"{name} must be an object")
    unit = next((unit for unit, member in MEMBERS.items() if member in record), "epochs")
    fields = {key.lower(): str(value) for key, value in record.items() if value is not None}
    return Point(
        id=name,
        benchmark=str(record.get("Benchmark", "")),
        batch_size=_batch_size(record.get("BS"), f"{name}, BS"),
        to_converge=_values(record.get(MEMBERS[unit]), f"{name}, {MEMBERS[unit]}"),
        unit=unit,
        hyperparameters=record.get("Hyperparams") or {},
        creator=fields.get("creator"),
        when=fields.get("when"),
        platform=fields.get("platform"),
        precision=fields.get("precision"),
        reference_version=fields.get("version"),
    )


def _is_number(value: Any) -> bool:
    # isinstance accepts True as an int
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return numeric and as_number(value) is not None


def _batch_size(value: Any, label: str) -> float:
    if not _is_number(value) or value <= 0:
        raise PointError(f"{label} is {value!r}; must be a number above 0")
    return value  # type: ignore[no-any-return]


def _values(values: Any, label: str) -> tuple[float, ...]:
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise PointError(f"{label} must be a list of numbers")
    if not all(_is_number(value) and value > 0 for value in values):
        raise PointError(f"{label} must contain only finite numbers above 0")
    if len(values) < FEWEST_VALUES:
        raise PointError(f"{label} has {len(values)} values; must have {FEWEST_VALUES} or more")
    return tuple(values)
