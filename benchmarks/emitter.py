"""Compare the emitter with the official one, as ratios of one run: `python benchmarks/emitter.py`.

Bars: 4 times the official events per second with call sites; without them 4 microseconds of CPU per
event in addition to the write; memory that does not grow.
"""

from __future__ import annotations

import argparse
import importlib
import os
import resource
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

from podium.logging_spec import Logger
from podium.logging_spec.mllog.mllog import MLLogger

if TYPE_CHECKING:
    from collections.abc import Callable

LINE = b"x" * 170 + b"\n"
"""A line as long as those of the loggers."""


def cpu(work: Callable[[int], object], events: int, rounds: int = 5) -> float:
    """Microseconds of CPU per event: the best of several rounds, to exclude noise."""
    times = []
    work(events // 20)
    for _ in range(rounds):
        start = time.process_time()
        work(events)
        times.append(time.process_time() - start)
    return min(times) / events * 1e6


def logging_to(logger: Any) -> Callable[[int], object]:
    """A function that logs evaluations."""

    def work(events: int) -> None:
        for number in range(events):
            logger.event("eval_accuracy", 0.75, {"epoch_num": number})

    return work


def writing_to(path: str) -> Callable[[int], object]:
    """A function that only writes."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def work(events: int) -> None:
        for _ in range(events):
            os.write(descriptor, LINE)

    return work


def default_mllogger(kind: Any) -> Any:
    """An MLLogger with its defaults, whose stdout is discarded."""
    stdout, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115 - open to the end
    try:
        logger = kind()
    finally:
        sys.stdout = stdout
    logger.logger.handlers[:] = [logger.logger.handlers[-1]]
    return logger


def row(what: str, micros: float, note: str = "") -> None:
    """Print one row of the table."""
    print(f"{what:<42} {micros:8.2f} us  {note}")


def speed(events: int, folder: str) -> None:
    """Print the table of times and ratios."""
    path = os.path.join(folder, "emitter_bench.txt")
    null = cpu(writing_to(os.devnull), events)
    write = cpu(writing_to(path), events)
    row("bare os.write to /dev/null", null)
    row("bare os.write to a file", write)
    with_sites = {
        "drop-in mllog": default_mllogger(MLLogger),
        "Logger": Logger(os.devnull, rank=0),
    }
    times = {name: cpu(logging_to(logger), events) for name, logger in with_sites.items()}
    official = _official()
    theirs = None
    if official is not None:
        theirs = cpu(logging_to(default_mllogger(official)), events // 4)
        row("official emitter, call sites", theirs, "1.0x")
    for name, micros in times.items():
        row(f"{name}, call sites", micros, f"{theirs / micros:.1f}x (bar: 4x)" if theirs else "")
    for name, target, base in (("nowhere", os.devnull, null), ("a file", path, write)):
        micros = cpu(logging_to(Logger(target, rank=0, call_sites=False)), events)
        row(
            f"Logger to {name}, no call sites",
            micros,
            f"{micros - base:.2f} us beyond the write (bar: 4)",
        )
    os.unlink(path)


def memory(events: int) -> None:
    """Print the growth of memory while events are logged."""
    work = logging_to(Logger(os.devnull, rank=0))
    work(10_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work(events)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"memory after {events:,} more events: {grown} KiB more (bar: flat)")


def _official() -> Any:
    try:
        return importlib.import_module("mlperf_logging.mllog.mllog").MLLogger
    except ImportError:
        return None


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=20_000, help="events per round")
    parser.add_argument("--memory", type=int, default=500_000, help="events in the memory test")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="folder for a test file")
    options = parser.parse_args()
    speed(options.events, options.folder)
    memory(options.memory)


if __name__ == "__main__":
    main()
