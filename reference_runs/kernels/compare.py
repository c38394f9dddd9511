"""Comparison of measured kernels and public sheets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium.reference_runs.kernels.problems import AllReduce, Problem, bytes_of, part_of
from podium.reference_runs.kernels.result import KernelRun

Row = dict[str, Any]

SUMMARY = ("part", "device", "kernels", "common", "total_ms", "best_tflops", "speed")
EACH = ("part", "kernel", "device", "ms", "flop", "tflops", "gb_per_s", "speed")


@dataclass(frozen=True, kw_only=True)
class DeviceTimes:
    """The times of one device: milliseconds of each measured problem."""

    name: str
    precision: str
    ms: Mapping[Problem, float]
    notes: tuple[str, ...] = ()


def entry_of(name: str, run: KernelRun) -> DeviceTimes:
    """A run as an entry of a comparison."""
    cut = () if run.complete else (f"{name}: this run is incomplete",)
    return DeviceTimes(
        name=name,
        precision=run.precision,
        ms={kernel.problem: kernel.timing.median_ms for kernel in run.kernels if kernel.timing},
        notes=(*(f"{name}: {note}" for note in run.notes), *cut),
    )


def each_kernel(entries: Sequence[DeviceTimes]) -> list[Row]:
    """A row for each kernel on each device, in the order of the first entry that has the kernel.

    `speed` is relative to the first entry. All rates use podium's formulas.
    """
    problems = dict.fromkeys(problem for entry in entries for problem in entry.ms)
    return [
        _kernel(problem, entry, entries[0])
        for problem in sorted(problems, key=part_of)
        for entry in entries
        if problem in entry.ms
    ]


def _kernel(problem: Problem, entry: DeviceTimes, first: DeviceTimes) -> Row:
    ms = entry.ms[problem]
    numbers = "fp32" if isinstance(problem, AllReduce) else _numbers(entry.precision)
    return {
        "part": part_of(problem),
        "kernel": problem.label,
        "device": entry.name,
        "ms": ms,
        "flop": problem.flop or None,
        "tflops": problem.flop / ms / 1e9 if problem.flop else None,
        "gb_per_s": bytes_of(problem, numbers) / ms / 1e6,
        "speed": first.ms[problem] / ms if problem in first.ms else None,
    }


def _numbers(precision: str) -> str:
    """The sheets' names of half precision: the stored type has two bytes."""
    return "fp16" if precision.endswith("fp16") else precision


def summary(entries: Sequence[DeviceTimes]) -> list[Row]:
    """A row for each part on each device.

    `total_ms` and `speed` (geometric mean relative to the first entry) include only the kernels
    that all entries with any kernel of that part have; `common` is their number.
    """
    return [*_summary(entries)]


def _summary(entries: Sequence[DeviceTimes]) -> Iterator[Row]:
    parts = sorted({part_of(problem) for entry in entries for problem in entry.ms})
    for part in parts:
        own = [{p: ms for p, ms in entry.ms.items() if part_of(p) == part} for entry in entries]
        common = [p for p in next(filter(None, own)) if all(p in times for times in own if times)]
        for entry, ms in zip(entries, own, strict=True):
            if not ms:
                continue
            rates = [problem.flop / time / 1e9 for problem, time in ms.items() if problem.flop]
            both = [own[0][p] / ms[p] for p in common if p in own[0]]
            yield {
                "part": part,
                "device": entry.name,
                "kernels": len(ms),
                "common": len(common),
                "total_ms": sum(ms[problem] for problem in common) if common else None,
                "best_tflops": max(rates, default=None),
                "speed": math.exp(sum(map(math.log, both)) / len(both)) if both else None,
            }
