"""Speed and cost of a scheduler's workers, and a model for many of them.

    python benchmarks/scale.py [CORPUS] [--times 4] [--workers 1 2 4 8] [--batches 400]

The logs of published rounds are checked several times by processes and by local workers of dask.
CPU seconds are those of all processes; on a loaded machine only they are meaningful, and more
workers than cores show the cost of each, not the speedup. Empty batches show the cost per batch for
the scheduler and a worker. The figures are inputs of the model that is printed last and that
docs/measurements/workers.md explains.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from podium.compliance.judging.discovery import discover  # noqa: E402
from podium.compliance.judging.files import FileVerdict, Task, judge_files  # noqa: E402
from podium.compliance.judging.options import Options  # noqa: E402
from podium.compliance.judging.pipeline import check_paths  # noqa: E402
from podium.compliance.judging.workers.cluster import batches as batching  # noqa: E402
from podium.compliance.judging.workers.cluster.batch import Answer, packed  # noqa: E402
from podium.compliance.judging.workers.cluster.connecting import engine_of  # noqa: E402
from podium.compliance.judging.workers.engine import Engine, Processes  # noqa: E402
from podium.compliance.judging.workers.processes import TaskPolicy  # noqa: E402

MODELLED = (8, 64, 256, 1000, 4000)
ROUND_BYTES, ROUND_FILES = 5_450_000_000, 24_955
"""Bytes and files of 17 published rounds in full."""


class Spent(NamedTuple):
    """Seconds of wall time, of CPU time here, and of CPU time in all child processes."""

    wall: float
    here: float
    below: float


def below() -> float:
    """CPU seconds of all child processes, including finished ones."""
    waited = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = waited.ru_utime + waited.ru_stime
    for each in psutil.Process().children(recursive=True):
        try:
            total += sum(each.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total


def spent(work: Callable[[], object]) -> Spent:
    """The cost of a call."""
    wall, here, others = time.perf_counter(), time.process_time(), below()
    work()
    return Spent(time.perf_counter() - wall, time.process_time() - here, below() - others)


def judged(tasks: list[Task], engine: Engine) -> list[FileVerdict]:
    """The verdicts of the files, from an engine."""
    return [one for batch in judge_files(tasks, engine) for one in batch]


def empty_batches(engine: Engine, count: int) -> Spent:
    """The cost of batches that have one empty task each."""
    # A function of Python itself, since no other process can import those of a program; a task is
    # the number of seconds that it may take
    care = TaskPolicy[int, int](float, max)
    most, batching.BATCH_BYTES = batching.BATCH_BYTES, 0
    try:
        return spent(lambda: [*engine.spread(list, [60] * count, care)])
    finally:
        batching.BATCH_BYTES = most


# --- the table and the model ---


def measure(tasks: list[Task], size: int, counts: list[int], count: int) -> tuple[Spent, Spent]:
    """Print the cost for each number of workers; returns those of one worker and of a batch."""
    print(f"{'':24} {'start':>6} {'wall':>7} {'here':>7} {'below':>7}  of CPU")
    for jobs in counts:
        took = spent(lambda jobs=jobs: judged(tasks, Processes(jobs)))
        _row(f"processes, {jobs}", 0.0, took, size)
    one = batch = Spent(0, 0, 0)
    for jobs in counts:
        with engine_of("dask", jobs) as engine:
            assert engine is not None
            start = spent(lambda engine=engine, jobs=jobs: empty_batches(engine, jobs))
            took = spent(lambda engine=engine: judged(tasks, engine))
            _row(f"dask, {jobs}", start.wall, took, size)
            if jobs == counts[0]:
                one = took
            if jobs == 2 or len(counts) == 1:
                batch = Spent(*(each / count for each in empty_batches(engine, count)))
    print(
        f"an empty batch: {batch.here * 1e3:.1f} ms of CPU in client and scheduler, "
        f"{batch.below * 1e3:.1f} ms in its worker"
    )
    return one, batch


def _row(name: str, start: float, took: Spent, size: int) -> None:
    rate = size / 1e6 / (took.here + took.below)
    times = f"{start:6.1f} {took.wall:7.1f} {took.here:7.1f} {took.below:7.1f}"
    print(f"{name:24} {times}  {rate:.0f} MB per second of CPU")


def model(size: int, files: int, rate: float, batch: Spent, client: float) -> None:
    """Print the seconds of many workers for given bytes and files, and the limiting factor.

    `rate` is a worker's reading rate in bytes per second, `client` is the client's cost per file in
    CPU seconds.
    """
    print(f"\n{size / 1e9:,.1f} GB in {files:,} files: seconds according to the model")
    print(f"{'workers':>8} {'batches':>9} {'reading':>9} {'scheduler':>10} {'client':>8}")
    for workers in MODELLED:
        weight = size + files * batching.FILE_BYTES
        share = weight / (workers * batching.BATCHES_PER_WORKER)
        held = min(batching.BATCH_BYTES, max(batching.LEAST_BYTES, share))
        # A file is never split
        count = max(1.0, min(files, weight / held))
        reading = (size / rate + count * batch.below) / min(workers, count)
        seconds = {"reading": reading, "scheduler": count * batch.here, "client": files * client}
        limit = max(seconds, key=lambda each: seconds[each])
        cells = f"{seconds['reading']:9.1f} {seconds['scheduler']:10.1f} {seconds['client']:8.1f}"
        print(f"{workers:8} {count:9,.0f} {cells}  {limit}")


def main() -> None:
    """Measure, print the tables, and the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = ROOT.parent / "shared" / "corpus"
    parser.add_argument("folder", type=Path, nargs="?", default=default)
    parser.add_argument("--times", type=int, default=4, help="number of checks of each log")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--batches", type=int, default=400, help="empty batches")
    arguments = parser.parse_args()
    rounds = sorted(arguments.folder.glob("*_results_v*"))
    if not rounds:
        sys.exit(f"{arguments.folder}: no rounds in this folder")
    once = list(discover(rounds, Options()).tasks)
    tasks = once * arguments.times
    size = sum(os.stat(task.path).st_size for task in tasks)
    print(f"{len(tasks)} files, {size / 1e6:.0f} MB, {os.cpu_count()} cores")
    one, batch = measure(tasks, size, arguments.workers, arguments.batches)
    answers = packed(Answer(judged(once, Processes(2))))
    print(f"results: {len(answers) / len(once):.0f} bytes of each file")
    with engine_of("dask", 2) as engine:
        whole = spent(lambda: check_paths(rounds, Options(engine=engine)))
    file_s, package_s = one.here / len(tasks), whole.here / len(once)
    print(f"client: {file_s * 1e3:.2f} ms of CPU per file, {package_s * 1e3:.2f} with its package")
    rate = size / one.below
    model(ROUND_BYTES, ROUND_FILES, rate, batch, package_s)
    model(1000 * ROUND_BYTES, 1000 * ROUND_FILES, rate, batch, package_s)
    # Large logs of frameworks: a hundred megabytes each
    model(10**15, 10**7, rate, batch, package_s)


if __name__ == "__main__":
    main()
