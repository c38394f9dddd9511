"""Timelines: the phases of a step, the utilization of the machine, the jobs on devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from podium.compliance.reporting.pages.templates import brief
from podium.compliance.reporting.profiled.pictures import LETTER, ROW, WIDTH, Box

Rows = Sequence[Mapping[str, Any]]

MARGIN = 110.0
"""Width of the row names on the left, in units."""
HEIGHT = 60.0
"""Height of a strip, in units."""


class Lane(NamedTuple):
    """A row of a timeline: its name, its vertical position, and its boxes."""

    name: str
    y: float
    boxes: list[Box]


class Lanes(NamedTuple):
    """The rows, and marks (position, text) of the time axis below them."""

    rows: list[Lane]
    height: float
    marks: list[tuple[float, str]]


class Strip(NamedTuple):
    """One quantity over time: its name, its maximum, and a polyline."""

    name: str
    most: str
    points: str


class Strips(NamedTuple):
    """Strips of quantities, with the intervals of the log as background."""

    strips: list[Strip]
    behind: list[Box]


def steps_in_lanes(timeline: Rows) -> Lanes | None:
    """The recorded steps, with a row for each phase; all start at the left."""
    if not timeline:
        return None
    longest = max(entry["end_ms"] for entry in timeline)
    names = list(dict.fromkeys(entry["lane"] for entry in timeline))
    scale = _Across(longest)
    rows: list[Lane] = []
    y = 0.0
    for step in sorted({entry["step"] for entry in timeline}):
        for index, name in enumerate(names):
            boxes = [
                _box(
                    scale,
                    (entry["begin_ms"], entry["end_ms"], y),
                    f"step {step + 1}, {name}: {entry['begin_ms']:.3f} to {entry['end_ms']:.3f} ms",
                    index,
                )
                for entry in timeline
                if (entry["step"], entry["lane"]) == (step, name)
            ]
            if boxes:
                rows.append(Lane(name, y, boxes))
                y += ROW
        y += ROW / 2
    return Lanes(rows, y, scale.marks(lambda ms: f"{ms:.4g} ms"))


def plan_in_lanes(
    schedule: Mapping[str, Any],
    plan: Mapping[str, Any],
    end: float,
    label: Callable[[float], str],
) -> Lanes:
    """A row for each device with its jobs in a plan, up to a common end in seconds."""
    names = [job["name"] for job in schedule["jobs"]]
    scale = _Across(end)
    rows = [
        Lane(
            f"device {device}",
            device * ROW,
            [
                _box(
                    scale,
                    (job["begin"], job["end"], device * ROW),
                    f"{job['job']}: {label(job['begin'])} to {label(job['end'])}",
                    names.index(job["job"]),
                    job["job"],
                )
                for job in plan["jobs"]
                if device in job["devices"]
            ],
        )
        for device in range(schedule["devices"])
    ]
    return Lanes(rows, len(rows) * ROW, scale.marks(label))


class _Across:
    """Horizontal positions of times."""

    def __init__(self, longest: float) -> None:
        self._longest = longest or 1.0

    def at(self, time: float) -> float:
        return MARGIN + (WIDTH - MARGIN) * time / self._longest

    def marks(self, label: Callable[[float], str]) -> list[tuple[float, str]]:
        return [(self.at(self._longest * n / 5), label(self._longest * n / 5)) for n in range(5)]


def _box(
    scale: _Across, extent: tuple[float, float, float], title: str, shade: int, label: str = ""
) -> Box:
    begin, end, y = extent
    x, width = scale.at(begin), max(scale.at(end) - scale.at(begin), 0.5)
    caption = label[: int(width / LETTER) - 1] if width > 4 * LETTER else ""
    return Box(x, y, width, ROW - 2, caption, title, shade % 6)


QUANTITIES: tuple[tuple[str, str, float, str], ...] = (
    ("cpu", "processors of the machine busy", 100, "%"),
    ("processors", "processors kept busy by the run", 1, ""),
    ("memory", "memory in use", 1, "B"),
    ("resident", "memory of the run", 1, "B"),
    ("disk_read", "disk, read", 1, "B/s"),
    ("disk_written", "disk, written", 1, "B/s"),
    ("network_received", "network, received", 1, "B/s"),
    ("network_sent", "network, sent", 1, "B/s"),
    ("gpu_busy", "GPU busy", 100, "%"),
    ("gpu_memory", "GPU memory in use", 1, "B"),
    ("gpu_sm_clock", "GPU clock", 1, "MHz"),
    ("gpu_memory_clock", "clock of the GPU's memory", 1, "MHz"),
    ("gpu_power", "GPU power", 1, "W"),
    ("gpu_pcie_received", "PCIe, to the GPU", 1, "B/s"),
    ("gpu_pcie_sent", "PCIe, from the GPU", 1, "B/s"),
    ("gpu_nvlink_received", "NVLink, received", 1, "B/s"),
    ("gpu_nvlink_sent", "NVLink, sent", 1, "B/s"),
)
"""Field of a utilization sample, and its title, factor and unit on the page."""


def strips(usage: Rows, intervals: Rows) -> Strips | None:
    """The utilization of the machine: a strip for each figure that is recorded and not always 0."""
    if not usage:
        return None
    end = max(span["end_ms"] for span in (*usage, *intervals))
    # Sampling starts before the first interval
    begin = min(0.0, *(sample["begin_ms"] for sample in usage))
    scale = (WIDTH / (end - begin or 1.0), begin)
    rows = [_flat(sample) for sample in usage]
    drawn = []
    for figure, name, factor, unit in QUANTITIES:
        values = [row.get(figure) for row in rows]
        peak = max((value for value in values if value is not None), default=0)
        if peak > 0:
            points = " ".join(_points(rows, values, peak, scale))
            drawn.append(Strip(name, f"at most {brief(peak * factor)} {unit}".rstrip(), points))
    background = [
        Box(
            (interval["begin_ms"] - begin) * scale[0],
            0,
            max((interval["end_ms"] - interval["begin_ms"]) * scale[0], 0.5),
            HEIGHT,
            "",
            f"{interval['kind']}: {interval['begin_ms']:.0f} to {interval['end_ms']:.0f} ms",
            interval["kind"] == "evaluation",
        )
        for interval in intervals
    ]
    return Strips(drawn, background)


def _flat(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {**usage, **{f"gpu_{name}": value for name, value in (usage["gpu"] or {}).items()}}


def _points(
    rows: Rows, values: Sequence[float | None], peak: float, scale: tuple[float, float]
) -> Iterator[str]:
    """The outline of an area: the height of each span is its value, 0 without samples."""
    wide, begin = scale
    for row, value in zip(rows, values, strict=True):
        left, right = ((row[side] - begin) * wide for side in ("begin_ms", "end_ms"))
        top = HEIGHT - (HEIGHT - 4) * (value or 0) / peak
        for x, y in ((left, HEIGHT), (left, top), (right, top), (right, HEIGHT)):
            yield f"{x:.1f},{y:.1f}"
