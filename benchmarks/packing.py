"""Speed of `podium pack`'s copies, hashed, against `cp -r`.

    python benchmarks/packing.py FOLDER [--gigabytes 5] [--rounds 3]

Logs of 45 MB, mostly lines of a framework, are written below FOLDER, which should lie on the disk
that matters. Copies are made in turns with `cp -r`, each to a place of its own, which goes again;
the medians are compared. CPU time says more than the time on the wall where others use the machine.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from compliance.packing.copying import copy_all  # noqa: E402 - a script finds the packages now
from compliance.packing.plan import Entry  # noqa: E402
from compliance.packing.sources import source_of  # noqa: E402
from compliance.packing.write import silent  # noqa: E402

LOG_BYTES = 45_000_000
BAR = 0.7


class Took(NamedTuple):
    """Seconds on the wall and of the processor."""

    wall: float
    cpu: float


def write_logs(folder: Path, size: int) -> None:
    """Logs with a few lines of records among many of a framework."""
    folder.mkdir(parents=True)
    noise = "".join(
        f"[rank{i % 64}] iteration {i} loss {3 - i * 1e-5:.5f} tokens/s {9e4 + i % 97:.1f}\n"
        for i in range(20_000)
    ).encode()
    record = ':::MLLOG {"namespace": "", "time_ms": %d, "event_type": "POINT_IN_TIME", '
    record += '"key": "eval_accuracy", "value": 0.5, "metadata": {"file": "a.py", "lineno": 1}}\n'
    for number in range(max(1, size // LOG_BYTES)):
        with (folder / f"run{number}.log").open("wb") as stream:
            while stream.tell() < LOG_BYTES:
                stream.write((record % (1_700_000_000_000 + number)).encode())
                stream.write(noise)


def took(act: Callable[[], object]) -> Took:
    """How long something takes, its child processes too."""
    usages = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)

    def cpu() -> float:
        return sum(sum(resource.getrusage(each)[:2]) for each in usages)

    wall, before = time.perf_counter(), cpu()
    act()
    return Took(time.perf_counter() - wall, cpu() - before)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    place = asked.folder / "podium-packing-benchmark"
    logs, to = place / "logs", place / "to"
    try:
        write_logs(logs, int(asked.gigabytes * 1e9))
        compare(logs, to, asked.rounds)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def compare(logs: Path, to: Path, rounds: int) -> None:
    """Copy by turns, print both and their ratio."""
    entries = [
        Entry(f"results/result_{number}.txt", source_of(path, logs))
        for number, path in enumerate(sorted(logs.iterdir()))
    ]
    size = sum(entry.source.size for entry in entries)
    jobs = os.cpu_count() or 1
    acts: dict[str, Callable[[], object]] = {
        "cp -r": lambda: subprocess.run(["/bin/cp", "-r", str(logs), str(to)], check=True),
        "podium": lambda: copy_all(entries, to, jobs, silent),
    }
    found: dict[str, list[Took]] = {name: [] for name in acts}
    for _ in range(rounds):
        for name, act in acts.items():
            os.sync()
            found[name].append(took(act))
            shutil.rmtree(to)
    print(f"{len(entries)} logs, {size / 1e9:.2f} GB, {jobs} cores, load {os.getloadavg()[0]:.1f}")
    for name, each in found.items():
        wall, cpu = (statistics.median(values) for values in zip(*each, strict=True))
        print(
            f"  {name:7} {wall:7.2f} s on the wall  {cpu:6.2f} s CPU  {size / 1e6 / wall:6.0f} MB/s"
        )
    walls = {name: statistics.median(t.wall for t in each) for name, each in found.items()}
    ratio = walls["cp -r"] / walls["podium"]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  podium has {ratio:.0%} of cp -r's speed (bar {BAR:.0%}), {memory:.0f} MB at most")


if __name__ == "__main__":
    main()
