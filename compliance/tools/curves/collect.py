"""The curves of files and folders: logs and tracker files, distinguished by content."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from podium.compliance.errors import NothingToJudge, UsageFault
from podium.compliance.judging.inputs.source_files import open_plain
from podium.compliance.judging.logs.trace import trace_of
from podium.compliance.tools.curves.trackers import (
    MAGIC,
    BadRecording,
    Curve,
    Point,
    read_events,
    read_run,
)
from podium.logging_spec.reader.read import read_log
from podium.rules.run import Run

EVENTS = "tfevents"
"""A part of the name of every TensorBoard file."""

LARGEST = 1 << 30
"""Maximum bytes of a tracker file, which is read completely."""

QUALITY, STEP = "quality", "step"


class CurveRequest(NamedTuple):
    """The curves to read from trackers, and the training progress of their points.

    `metric` names the quantity, "" for all. `counted_by` names a field of Weights & Biases with the
    training progress, "" for the library's step; one such unit is `each` units of the log.
    """

    metric: str = ""
    counted_by: str = ""
    each: float = 1.0


def collect(paths: Sequence[Path], request: CurveRequest) -> list[Curve]:
    """The curves below paths, logs first; the curve of a log is its quality.

    Raises NothingToJudge if there is none, UsageFault for a tracker file that cannot be read.
    """
    curves = [curve for path in _files(paths) for curve in _curves(path, request)]
    logs = [curve for curve in curves if curve.source == "log"]
    tracked = [curve for curve in curves if curve.source != "log"]
    selected = [curve for curve in tracked if request.metric in ("", curve.name)]
    if selected or (logs and not request.metric):
        return [*logs, *selected]
    names = sorted({curve.name for curve in tracked})
    hint = f"; found: {', '.join(names[:20])}" if names else ""
    noun = f"curve named {request.metric}" if request.metric else "curve"
    raise NothingToJudge(f"no {noun} in {', '.join(map(str, paths))}{hint}")


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders.sort()
            yield from (Path(folder, name) for name in sorted(names))


def _curves(path: Path, request: CurveRequest) -> Iterator[Curve]:
    if EVENTS in path.name or path.suffix == ".wandb":
        yield from _tracked(path, request)
        return
    log = read_log(path)
    series = trace_of(Run(log.records, log.line)).quality
    points = tuple(
        Point(position, ms / 1000, value)
        for _, ms, position, value in series.points
        if position is not None
    )
    if points:
        yield Curve(str(path), "log", QUALITY, series.unit, points)


def _tracked(path: Path, request: CurveRequest) -> Iterator[Curve]:
    try:
        with open_plain(path) as stream:
            data = stream.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise BadRecording(f"is larger than {LARGEST >> 20} MiB")
        is_run = data.startswith(MAGIC)
        series = read_run(data, request.counted_by) if is_run else read_events(data)
    except (OSError, BadRecording) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageFault(f"{path} {reason}") from None
    unit = request.counted_by if is_run and request.counted_by else STEP
    for name, points in sorted(series.items()):
        finite = tuple(
            Point(position * request.each, time, value)
            for position, time, value in points
            if math.isfinite(value) and math.isfinite(position)
        )
        if finite:
            yield Curve(str(path), "wandb" if is_run else "tensorboard", name, unit, finite)
