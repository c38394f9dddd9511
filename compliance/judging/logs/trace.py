"""The data of one log that a review compares: curves, the clock, sequences of numbers.

It is gathered only on request: a check of a log does not need it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import msgspec

from podium.compliance.judging.logs.jobs import job_of
from podium.rules.checks.points import POSITIONS, evaluations, position
from podium.rules.run import Run, as_number, metadata_of

MOST_POINTS = 2000
"""Number of points of a curve that are kept: of a longer curve every n-th point, and the last."""

LEAST_BACK_MS, MOST_BACK = 1000.0, 5
"""Least step back of a clock in milliseconds, because ranks that write one file differ by less;
and the number of steps that are kept."""

FAMILIES = ((4, 6), (8, 4))
"""(consecutive numbers, digits of each) that two runs do not share by chance."""

GAPS_IN_A_ROW, LEAST_GAP_MS, LEAST_SCATTER_MS = 7, 100.0, 10.0
"""Number, least length and least scatter of times between evaluations that identify a run."""

MOST_STRETCHES = 128

LONGEST_VALUE = 120
"""Number of characters of a value that are kept."""

_CLOCKED = ("block_start", "epoch_start", "eval_start")
_BLOCK = ("first_epoch_num", *POSITIONS)
_LOSS_MEMBERS = ("train_loss", "loss")
_SAMPLES = ("samples_count", "train_samples_since_beginning", "epoch_num", "step_num")
_TRACKED = ("samples_count", "step", "epoch_num", "step_num", "epoch")

Item = TypeVar("Item")

Point = tuple[int, float, float | None, float]
"""The line of a record, its time (ms since 1970), the training progress, the value."""


class Series(msgspec.Struct, frozen=True, gc=False):
    """One quantity during a run, in file order; `total` is the number of logged points.

    `unit` is the metadata member with the training progress, "" if there is none.
    """

    points: tuple[Point, ...] = ()
    unit: str = ""
    total: int = 0


NO_SERIES = Series()


class Stretch(msgspec.Struct, frozen=True, gc=False):
    """Consecutive numbers as a hash, with the lines of the first and the last number.

    `kind` is `values` (evaluations or losses) or `times` (milliseconds between evaluations).
    """

    mark: int
    first: int
    last: int
    kind: str


class KeyRecords(msgspec.Struct, frozen=True, gc=False):
    """The records of one key: their number, the value if single, hashes of values and times."""

    count: int
    value: str | int | float | bool | None
    values: str
    times: str


class Trace(msgspec.Struct, frozen=True):
    """The curves of one run, the steps back of its clock (line, ms), and its unique sequences.

    `job` is the number and the line of the scheduler's job, if the log names exactly one. `records`
    are the records by key.
    """

    quality: Series = NO_SERIES
    loss: Series = NO_SERIES
    throughput: Series = NO_SERIES
    back: tuple[tuple[int, float], ...] = ()
    stretches: tuple[Stretch, ...] = ()
    job: tuple[int, int] | None = None
    records: dict[str, KeyRecords] = {}


def trace_of(run: Run, data: bytes = b"") -> Trace:
    """The trace of a run; `data` is the content of its file. Never raises."""
    quality, losses = _quality(run), _loss(run)
    return Trace(
        quality=_kept(quality),
        loss=_kept(losses),
        throughput=_kept(_throughput(run)),
        back=tuple(_backward(run, quality.points)),
        stretches=(
            *_sampled(_value_stretches(quality.points)),
            *_sampled(_value_stretches(losses.points)),
            *_sampled(_time_stretches(quality.points)),
        ),
        job=job_of(data),
        records={key: _of_key(run, positions) for key, positions in run.where.items()},
    )


# --- curves ---------------------------------------------------------------------------------------


def _quality(run: Run) -> Series:
    positions = evaluations(run)
    # Stable Diffusion logs two metrics, each with its own curve: the first represents both
    metric = metadata_of(run.records[positions[0]]).get("metric") if positions else None
    indices = (i for i in positions if metadata_of(run.records[i]).get("metric") == metric)
    return _series(run, indices, _outcome, _SAMPLES)


def _outcome(value: Any) -> float | None:
    if not isinstance(value, dict):
        return as_number(value)
    # The dialect of 0.5 logs {"epoch": 0, "value": 0.53}; Mask R-CNN {"BBOX": 0.37, "SEGM": 0.34},
    # of which the first represents both
    return as_number(value.get("value", value.get("BBOX")))


def _loss(run: Run) -> Series:
    positions = run.where.get("train_loss")
    if positions:
        return _series(run, positions, as_number, _SAMPLES)
    return _series(run, run.where.get("tracked_stats", ()), _member(*_LOSS_MEMBERS), _TRACKED)


def _throughput(run: Run) -> Series:
    tracked = _series(run, run.where.get("tracked_stats", ()), _member("throughput"), _TRACKED)
    if tracked.points:
        return tracked
    return _series(run, run.where.get("throughput", ()), as_number, _TRACKED)


def _member(*names: str) -> Callable[[Any], float | None]:
    def read(value: Any) -> float | None:
        values = (value.get(name) for name in names) if isinstance(value, dict) else ()
        return next((number for item in values if (number := as_number(item)) is not None), None)

    return read


def _series(
    run: Run, positions: Any, value_of: Callable[[Any], float | None], names: Sequence[str]
) -> Series:
    points: list[Point] = []
    unit = ""
    for index in positions:
        record = run.records[index]
        value = value_of(record.value)
        if value is None:
            continue
        progress = position(record, names) or position(record, POSITIONS)
        # A curve has one scale: values of another member are not on it
        unit = unit or (progress[0] if progress else "")
        distance = progress[1] if progress and progress[0] == unit else None
        points.append((run.line(index), record.time_ms, distance, value))
    return Series(tuple(points), unit, len(points))


def thinned(points: Sequence[Item], limit: int) -> Sequence[Item]:
    """Every n-th point, at most `limit`, and the last, because the end of a curve matters most."""
    step = -(-len(points) // limit)
    return points if step <= 1 else [*points[:-1:step], points[-1]]


def _kept(series: Series) -> Series:
    return Series(tuple(thinned(series.points, MOST_POINTS)), series.unit, series.total)


# --- the clock ------------------------------------------------------------------------------------


def _backward(run: Run, quality: Sequence[Point]) -> Iterator[tuple[int, float]]:
    """(line, ms) of the first five records with further progress at an earlier time.

    Each key is compared separately, in its order: logs are joined from the outputs of several
    processes, whose lines need not be in order of time.
    """
    count = 0
    for points in (quality, *(_marks(run, key) for key in _CLOCKED)):
        for earlier, later in pairwise(points):
            step_back = earlier[1] - later[1]
            further = earlier[2] is not None and later[2] is not None and later[2] > earlier[2]
            if further and step_back >= LEAST_BACK_MS and count < MOST_BACK:
                count += 1
                yield later[0], step_back


def _marks(run: Run, key: str) -> list[Point]:
    marked = ((index, run.records[index]) for index in run.where.get(key, ()))
    return [
        (run.line(index), record.time_ms, progress[1], 0.0)
        for index, record in marked
        if (progress := position(record, _BLOCK)) is not None
    ]


# --- records ---


def _of_key(run: Run, positions: Sequence[int]) -> KeyRecords:
    records = [run.records[index] for index in positions]
    value = records[0].value if len(records) == 1 else None
    scalar = value if isinstance(value, str | int | float | bool) else None
    return KeyRecords(
        count=len(records),
        value=scalar[:LONGEST_VALUE] if isinstance(scalar, str) else scalar,
        values=_digest([(record.value, record.metadata) for record in records]),
        times=_digest([record.time_ms for record in records]),
    )


def _digest(content: object) -> str:
    # A digest of the text, because Python's hashes of strings differ between processes
    return hashlib.blake2b(repr(content).encode("utf-8", "replace"), digest_size=6).hexdigest()


# --- stretches ------------------------------------------------------------------------------------


def _value_stretches(points: Sequence[Point]) -> list[Stretch]:
    stretches = []
    for count, digits in FAMILIES:
        precise_points = [point for point in points if _digits(point[3]) >= digits]
        for start in range(len(precise_points) - count + 1):
            window = precise_points[start : start + count]
            values = tuple([point[3] for point in window])
            # If ranks repeat a value, the sequence has less information than its length
            if len({*values}) == count:
                # Only floats, whose hash is the same in every process
                mark = hash((float(count), *values))
                stretches.append(Stretch(mark, window[0][0], window[-1][0], "values"))
    return stretches


def _digits(number: float) -> int:
    return len(repr(abs(number)).partition("e")[0].replace(".", "").strip("0"))


def _time_stretches(points: Sequence[Point]) -> list[Stretch]:
    gaps = [(b[0], float(round(b[1] - a[1]))) for a, b in pairwise(points)]
    stretches = []
    for start in range(len(gaps) - GAPS_IN_A_ROW + 1):
        window = gaps[start : start + GAPS_IN_A_ROW]
        lengths = [length for _, length in window]
        if min(lengths) >= LEAST_GAP_MS and _scatter(lengths) >= LEAST_SCATTER_MS:
            stretches.append(Stretch(hash(tuple(lengths)), window[0][0], window[-1][0], "times"))
    return stretches


def _scatter(values: Sequence[float]) -> float:
    """The median distance from the median, which a single outlier does not raise."""
    middle = sorted(values)[len(values) // 2]
    return sorted(abs(value - middle) for value in values)[len(values) // 2]


def _sampled(stretches: list[Stretch]) -> list[Stretch]:
    """At most `MOST_STRETCHES`, selected only by their hashes, so that a copy has the same."""
    mask = 0
    while sum(not stretch.mark & mask for stretch in stretches) > MOST_STRETCHES:
        # One more bit each time, so that a shorter log keeps everything that a longer log keeps
        mask = 2 * mask + 1
    return [stretch for stretch in stretches if not stretch.mark & mask]
