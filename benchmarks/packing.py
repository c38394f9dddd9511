"""Speed of `podium pack`, the whole command, compared with `cp -r` of the same logs.

    python benchmarks/packing.py [FOLDER] [--gigabytes 5] [--rounds 3]

Ten logs, mostly lines of a framework, are written below FOLDER (default: the current one), which
should be on the disk of interest. They are alternately copied with `cp -r` and packed, each to a
separate folder that is then removed; the medians are compared. `podium pack` also checks each log
and computes its SHA-256, so if both folders are in memory it is bound by the CPU, and `cp` is not.
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
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from tests.builders import build  # noqa: E402 - a script finds the packages now

RUNS = 10
REST_SECONDS = 15
"""A virtual machine returns freed memory to the host: only an immediate start still has it."""
BAR = 0.7
CONFIG = """\
submitter = "Example"
usage = "training"
round = "6.1"
division = "closed"
into = "out"
systems = []

[[results]]
system = "example"
benchmark = "llama31_8b"
logs = ["logs/*.log"]
"""
"""Without description and code: missing files are reported, and `--force` packs anyway."""


class Took(NamedTuple):
    """Seconds of wall and CPU time."""

    wall: float
    cpu: float


def write_logs(folder: Path, size: int) -> None:
    """A result's logs, each with its records distributed over many lines of a framework."""
    folder.mkdir(parents=True)
    noise = "".join(
        f"[rank{i % 64}] iteration {i} loss {3 - i * 1e-5:.5f} tokens/s {9e4 + i % 97:.1f}\n"
        for i in range(20_000)
    ).encode()
    log = build("training", "6.1", "closed", "llama31_8b")
    for number in range(RUNS):
        # Runs with equal evaluations would be reported as copies.
        run = log.set("seed", 1 + number).shift("eval_accuracy", number / 1000)
        records = run.bytes().splitlines(keepends=True)
        between = size // RUNS // len(records)
        with (folder / f"run{number}.log").open("wb") as stream:
            for record in records:
                stream.write(record)
                for start in range(0, between, len(noise)):
                    stream.write(noise[: between - start])


def took(command: list[str], place: Path) -> Took:
    """The time of a command, including its child processes."""

    def cpu() -> float:
        return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])

    wall, before = time.perf_counter(), cpu()
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    subprocess.run(command, cwd=place, env=environment, stdout=subprocess.DEVNULL, check=False)
    return Took(time.perf_counter() - wall, cpu() - before)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path())
    parser.add_argument("--gigabytes", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    place = asked.folder / "podium-packing-benchmark"
    try:
        write_logs(place / "logs", int(asked.gigabytes * 1e9))
        (place / "podium.toml").write_text(CONFIG)
        compare(place, asked.rounds)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def compare(place: Path, rounds: int) -> None:
    """Copy and pack alternately, print both and their ratio."""
    size = sum(path.stat().st_size for path in (place / "logs").iterdir())
    acts = {
        "cp -r": (["/bin/cp", "-r", "logs", "copy"], place / "copy"),
        "podium pack": (
            # Like cp: no flush to the disk
            [sys.executable, "-m", "podium", "pack", ".", "--force", "--no-sync"],
            place / "out",
        ),
        "synced": ([sys.executable, "-m", "podium", "pack", ".", "--force"], place / "out"),
    }
    found: dict[str, list[Took]] = {name: [] for name in acts}
    for _ in range(rounds):
        for name, (command, to) in acts.items():
            os.sync()
            time.sleep(REST_SECONDS)
            found[name].append(took(command, place))
            copied = sum(path.stat().st_size for path in to.rglob("*.*"))
            if copied < size:
                sys.exit(f"{name} wrote {copied} of {size} bytes")
            shutil.rmtree(to)
    print(
        f"{RUNS} logs, {size / 1e9:.2f} GB, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    for name, each in found.items():
        wall, cpu = (statistics.median(values) for values in zip(*each, strict=True))
        rate = size / 1e6 / wall
        print(f"  {name:11} {wall:7.2f} s on the wall  {cpu:6.2f} s CPU  {rate:6.0f} MB/s")
    walls = {name: statistics.median(t.wall for t in each) for name, each in found.items()}
    ratio = walls["cp -r"] / walls["podium pack"]
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"  podium has {ratio:.0%} of cp -r's speed (bar {BAR:.0%}), {memory:.0f} MB at most")


if __name__ == "__main__":
    main()
