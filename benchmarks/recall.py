"""Time of `podium check --cache` for a whole round: without, cold, warm, after one change.

    python benchmarks/recall.py [ROUND] [--turns N]

Whole processes, including the start: seconds of wall time and of user CPU time, the medians of some
turns. The round is copied, by default the largest one; every report must equal that of a check
without the cache. Every file is hashed each time.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

BAR_S = 1.0
"""Maximum seconds of wall time for an unchanged round."""


class Spent(NamedTuple):
    """Seconds of one call, and its output."""

    wall: float
    user: float
    report: bytes


def check(tree: Path, *options: str) -> Spent:
    """One call of `podium check` on a tree."""
    words = [sys.executable, "-m", "podium", "check", str(tree), "--format", "json", "--jobs", "1"]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    around = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    place = ROOT / "src"
    done = subprocess.run(
        [*words, *options], cwd=place, env=around, capture_output=True, check=False
    )
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Spent(wall, after.ru_utime - before.ru_utime, done.stdout)


def turn(tree: Path, cache: Path, log: Path) -> dict[str, Spent]:
    """A check without a cache, one that fills it, one without changes, one after one change."""
    shutil.rmtree(cache, ignore_errors=True)
    made = {"without": check(tree), "cold": check(tree, "--cache-dir", str(cache))}
    made["warm"] = check(tree, "--cache-dir", str(cache))
    # A line that is not a record: another content, and the same report
    with log.open("a") as stream:
        stream.write("noise\n")
    made["one log changed"] = check(tree, "--cache-dir", str(cache))
    if len({each.report for each in made.values()}) != 1:
        sys.exit("the reports differ")
    return made


def main() -> None:
    """Measure, print the table, and say whether the bar is met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("round", type=Path, nargs="?")
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    rounds = [*(ROOT.parent / "shared" / "corpus").glob("*_results_*")]
    source = arguments.round or max(rounds, key=lambda each: len([*each.rglob("result_*")]))
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place, source.name)
        shutil.copytree(source, tree, copy_function=shutil.copyfile)
        logs = sorted(tree.rglob("result_*.txt"))
        size = sum(path.stat().st_size for path in logs) / 1e6
        print(f"{source.name}: {len(logs)} logs, {size:.0f} MB")
        turns = [turn(tree, Path(place, "cache"), logs[0]) for _ in range(arguments.turns)]
    for name in turns[0]:
        wall = statistics.median(each[name].wall for each in turns)
        user = statistics.median(each[name].user for each in turns)
        bar = f"  (bar {BAR_S:.0f} s on the wall)" if name == "warm" else ""
        print(f"{name:16} {wall:6.2f} s on the wall, {user:6.2f} s of CPU{bar}")


if __name__ == "__main__":
    main()
