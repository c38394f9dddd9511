"""The run level's log, and a log of the machine's utilization meanwhile: `tracked_stats`."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from podium.logging_spec import Logger
from podium.reference_runs.engine.launch import ROOT
from podium.reference_runs.profiling.profile import Interval, Usage
from podium.reference_runs.profiling.utilisation.nvml import Gpu, NvmlMissing
from podium.reference_runs.profiling.utilisation.sampler import (
    Machine,
    PsutilMissing,
    Sampler,
    stats_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from podium.reference_runs.profiling.wanted import ProfileRequest

LOG, BESIDE = "log.txt", "usage.txt"
"""Names of both logs in the folder of a profile."""


class LineSink:
    """A sink that keeps the log's lines."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def write(self, line: bytes) -> None:
        """Keep a line."""
        self.lines.append(line)

    def retry(self) -> None:
        """Do nothing, since no write can fail."""

    sync = close = retry


class Watched:
    """The log of the run level and the machine's utilization meanwhile, on the rank that logs."""

    def __init__(self, wanted: ProfileRequest) -> None:
        self._wanted = wanted
        self._lines = LineSink()
        self._usage: list[Usage] = []
        self._sampler: Sampler | None = None
        self._notes: list[str] = []
        self.sinks: list[Any] = [self._lines]
        if wanted.folder is not None:
            wanted.folder.mkdir(parents=True, exist_ok=True)
            self.sinks.append(str(wanted.folder / LOG))

    @contextmanager
    def sampling(
        self, device: torch.device, log: Logger
    ) -> Iterator[Callable[[], AbstractContextManager[None]]]:
        """Yields a context manager for each interval of the log.

        Raises NvmlMissing or PsutilMissing if all figures are required and some are unavailable.
        """
        with ExitStack() as stack:
            machine = self._machine(device, stack)
            if machine is None:
                yield nullcontext
                return
            logs = [log] if self._wanted.in_log else []
            if self._wanted.folder is not None:
                beside = Logger(str(self._wanted.folder / BESIDE), rank=0, root_dir=ROOT)
                logs.append(stack.enter_context(beside))

            def keep(usage: Usage) -> None:
                self._usage.append(usage)
                span = {"begin_ms": usage.begin_ms, "end_ms": usage.end_ms}
                for logger in logs:
                    logger.event("tracked_stats", stats_of(usage), metadata=span)

            self._sampler = Sampler(machine, keep)
            yield self._sampler.during

    def _machine(self, device: torch.device, stack: ExitStack) -> Machine | None:
        if self._wanted.utilisation == "none":
            return None
        gpu = None
        try:
            if device.type == "cuda":
                gpu = Gpu(f"GPU-{torch.cuda.get_device_properties(device).uuid}", device.index)
                stack.callback(gpu.close)
        except NvmlMissing as error:
            self._put_up_with(error)
        try:
            return Machine(gpu)
        except PsutilMissing as error:
            self._put_up_with(error)
            return None

    def _put_up_with(self, error: NvmlMissing | PsutilMissing) -> None:
        if self._wanted.utilisation == "all":
            raise error
        self._notes.append(str(error))

    @property
    def notes(self) -> tuple[str, ...]:
        """The figures that could not be sampled, with reasons."""
        fault = None if self._sampler is None else self._sampler.fault
        return (*self._notes, *([fault] if fault else ()))

    def intervals(self) -> tuple[tuple[Interval, ...], tuple[Usage, ...]]:
        """The blocks and evaluations of the log, and its utilization spans.

        Both are in milliseconds from the beginning of the first.
        """
        rows = [*_intervals(self._lines.lines)]
        first = rows[0][1] if rows else 0.0
        made = (
            Interval(kind=kind, begin_ms=begin - first, end_ms=end - first)  # type: ignore[arg-type]
            for kind, begin, end in rows
        )
        spans = (
            replace(usage, begin_ms=usage.begin_ms - first, end_ms=usage.end_ms - first)
            for usage in self._usage
        )
        return tuple(made), tuple(spans)


def _intervals(lines: list[bytes]) -> Iterator[tuple[str, float, float]]:
    """Kind, begin and end of the intervals in the lines, in milliseconds since 1970."""
    begun: dict[str, float] = {}
    for line in lines:
        record = json.loads(line.partition(b":::MLLOG")[2] or b"{}")
        kind, _, end = str(record.get("key", "")).partition("_")
        if kind not in ("block", "eval") or end not in ("start", "stop"):
            continue
        if end == "start":
            begun[kind] = record["time_ms"]
        elif kind in begun:
            yield "block" if kind == "block" else "evaluation", begun[kind], record["time_ms"]
