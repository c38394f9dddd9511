"""The analysis of traces: each rank's, and the collectives of all ranks together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from podium.reference_runs.errors import RunFault
from podium.reference_runs.profiling.traces.breakdown import idle, parts
from podium.reference_runs.profiling.traces.collectives import calls_of, collectives_of
from podium.reference_runs.profiling.traces.critical import critical_path, summarized
from podium.reference_runs.profiling.traces.events import read_trace
from podium.reference_runs.profiling.traces.kernels import (
    counted,
    kernel_times,
    launches,
    sequences,
)
from podium.reference_runs.profiling.traces.ranges import annotated_ranges, copies, launchers
from podium.reference_runs.profiling.traces.report import RankTrace, TraceReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from podium.reference_runs.profiling.traces.events import Trace

NAMES = ("*.json", "*.json.gz")


def analyzed_files(paths: Sequence[Path]) -> TraceReport:
    """The traces in files and folders, one for each rank; raises RunFault."""
    traces = sorted(map(read_trace, _files(paths)), key=lambda trace: trace.rank)
    ranks = [trace.rank for trace in traces]
    if len({*ranks}) < len(ranks):
        twice = next(rank for rank in ranks if ranks.count(rank) > 1)
        names = ", ".join(trace.name for trace in traces if trace.rank == twice)
        raise RunFault(f"expected one trace of each rank, got {names} of rank {twice}")
    return TraceReport(
        ranks=tuple(map(analyzed, traces)),
        collectives=collectives_of([(trace.rank, calls_of(trace)) for trace in traces]),
        notes=tuple(_notes(traces)),
    )


def _files(paths: Sequence[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        files += _inside(path) if path.is_dir() else [path]
    return files


def _inside(folder: Path) -> list[Path]:
    """The traces in a folder, which may be that of a profile."""
    folder = folder / "traces" if (folder / "traces").is_dir() else folder
    files = sorted(file for name in NAMES for file in folder.glob(name))
    if not files:
        raise RunFault(f"{folder} contains no traces: expected files named *.json or *.json.gz")
    return files


def _notes(traces: Sequence[Trace]) -> list[str]:
    notes = [
        f"{trace.name} has no marked steps: call step() of the profiler;"
        " times are of all its events"
        for trace in traces
        if not trace.steps
    ]
    largest = max(trace.ranks for trace in traces)
    if 1 < len(traces) < largest:
        notes.append(f"{len(traces)} of {largest} ranks have a trace: skew is only among them")
    return notes


def analyzed(trace: Trace) -> RankTrace:
    """One rank's trace."""
    steps = len(trace.steps) or 1
    begin, end = trace.window
    critical, path = summarized(critical_path(trace), steps)
    return RankTrace(
        file=trace.name,
        rank=trace.rank,
        ranks=trace.ranks,
        steps=steps,
        marked=bool(trace.steps),
        step_ms=(end - begin) / steps / 1000,
        on_device=bool(trace.device),
        parts=parts(trace, steps),
        idle=idle(trace, steps),
        critical=critical,
        path=path,
        launches=launches(trace, steps),
        kernels=kernel_times(trace, steps),
        launchers=launchers(trace, steps),
        copies=copies(trace, steps),
        annotations=annotated_ranges(trace, steps),
        counted=counted(trace, steps),
        sequences=sequences(trace, steps),
    )
