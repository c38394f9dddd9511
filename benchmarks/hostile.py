"""Run podium on thousands of hostile inputs: `make hostile N=100000`, or this file with `--help`.

Each input is generated from its number and the seed by the grammar of `tests/hostile.py`, and read
by the matching command, in worker processes. Faults are exit statuses other than 0, 1 and 2,
tracebacks, findings of internal errors, output with terminal control sequences, output that is
invalid JSON or XML, calls of more than SECONDS, and calls that use more than MEGABYTES. `--only
NUMBER` repeats one input.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from podium.compliance.files.processes import process_context  # noqa: E402 - found only now
from tests.hostile import Grammar  # noqa: E402
from tests.hostile_calls import Calls, faults  # noqa: E402

SECONDS = 5.0
MEGABYTES = 500.0
PATIENCE = 60.0
"""Seconds after which a call is killed; a call may be slow on a loaded machine."""
CHUNK = 500
"""Inputs per process: enough to show leaks between them, but limited."""


class Read(NamedTuple):
    """One input: its number and kind, exit status, seconds, peak megabytes, faults."""

    number: int
    kind: str
    status: int
    seconds: float
    megabytes: float
    faults: list[str]


@dataclass
class Tally:
    """The results of all inputs."""

    ends: Counter[tuple[str, int]] = field(default_factory=Counter)
    slowest: Read | None = None
    largest: Read | None = None
    slow: int = 0
    large: int = 0
    faults: list[str] = field(default_factory=list)

    def add(self, read: Read) -> None:
        """Count one input."""
        self.ends[read.kind, read.status] += 1
        self.slow += read.seconds > SECONDS
        self.large += read.megabytes > MEGABYTES
        self.faults += [f"{read.number} ({read.kind}): {fault}" for fault in read.faults]
        if self.slowest is None or read.seconds > self.slowest.seconds:
            self.slowest = read
        if self.largest is None or read.megabytes > self.largest.megabytes:
            self.largest = read

    def lines(self) -> list[str]:
        """The figures as a table, one kind per line."""
        kinds = sorted({kind for kind, _ in self.ends})
        lines = [f"{'':16}{'inputs':>8}{'exit 0':>8}{'exit 1':>8}{'exit 2':>8}{'other':>8}"]
        for kind in kinds:
            counts = [self.ends[kind, status] for status in range(3)]
            total = sum(count for (name, _), count in self.ends.items() if name == kind)
            cells = (total, *counts, total - sum(counts))
            lines.append(f"{kind:16}" + "".join(f"{cell:8}" for cell in cells))
        lines.append(f"{self.ends.total()} inputs, {len(self.faults)} faults")
        if self.slowest and self.largest:
            lines.append(
                f"{self.slow} over {SECONDS:.0f} s; the slowest took {self.slowest.seconds:.2f} s "
                f"({self.slowest.kind}, {self.slowest.number})"
            )
            lines.append(
                f"{self.large} over {MEGABYTES:.0f} MB; the largest took "
                f"{self.largest.megabytes:.0f} MB ({self.largest.kind}, {self.largest.number})"
            )
        return lines


def peak() -> float:
    """Peak memory of this process in megabytes since the last call."""
    with open("/proc/self/status", encoding="ascii") as stream:
        found = re.search(r"VmHWM:\s+(\d+)", stream.read())
    with open("/proc/self/clear_refs", "w", encoding="ascii") as stream:
        stream.write("5")
    return int(found[1]) / 1024 if found else 0.0


def read_one(calls: Calls, seed: int, number: int) -> Read:
    """Generate an input by number and read it; a slow one twice, in case the machine is busy."""
    read = _once(calls, seed, number)
    if read.seconds > SECONDS:
        read = read._replace(seconds=min(read.seconds, _once(calls, seed, number).seconds))
    return read


def _once(calls: Calls, seed: int, number: int) -> Read:
    grammar = Grammar(f"{seed}:{number}")
    kind = calls.draw(grammar)
    begun = time.monotonic()
    done = calls.call(grammar, kind)
    seconds = time.monotonic() - begun
    return Read(number, kind, int(done.exit_code), seconds, peak(), faults(done))


def work(place: Path, seed: int, numbers: range, sender: Connection) -> None:
    """Read some inputs and send the result of each."""
    os.chdir(place)
    calls = Calls(place / "in")
    peak()
    # The parent remembers the last number: if this process dies, the next one is at fault
    for number in numbers:
        sender.send(read_one(calls, seed, number))


class Worker:
    """A process, its remaining numbers, and the time of its last message."""

    def __init__(self, top: Path, seed: int, numbers: range) -> None:
        self.numbers, self.heard = numbers, time.monotonic()
        self.place = Path(tempfile.mkdtemp(dir=top))
        self.receiver, sender = multiprocessing.Pipe(duplex=False)
        args = (self.place, seed, numbers, sender)
        context: Any = process_context()
        self.process = context.Process(target=work, args=args, daemon=True)
        self.process.start()
        sender.close()

    def end(self) -> None:
        """End the process and remove its folder."""
        self.process.kill()
        self.process.join()
        self.receiver.close()
        shutil.rmtree(self.place, ignore_errors=True)

    def receive(self, tally: Tally) -> bool:
        """Receive a message; whether there may be more."""
        try:
            read: Read = self.receiver.recv()
        except EOFError:
            if self.numbers:
                self._lost(tally, "ended the process")
            return False
        tally.add(read)
        self.numbers, self.heard = self.numbers[1:], time.monotonic()
        return True

    def overdue(self, tally: Tally) -> bool:
        """Whether a call takes too long, which is then counted."""
        if time.monotonic() - self.heard <= PATIENCE:
            return False
        self._lost(tally, f"took more than {PATIENCE:.0f} s")
        tally.slow += 1
        return True

    def _lost(self, tally: Tally, how: str) -> None:
        tally.faults.append(f"{self.numbers[0]}: {how}")
        self.numbers = self.numbers[1:]


def run(count: int, seed: int, jobs: int, top: Path, end: float) -> Tally:
    """Read inputs 0 to `count`, several processes at a time; starts none after `end`."""
    tally, workers = Tally(), list[Worker]()
    waiting = [range(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)][::-1]
    while waiting or workers:
        if time.monotonic() > end:
            waiting.clear()
        while waiting and len(workers) < jobs:
            workers.append(Worker(top, seed, waiting.pop()))
        if not workers:
            break
        ready = wait([worker.receiver for worker in workers], PATIENCE / 4)
        for worker in [*workers]:
            there = worker.receiver in ready
            if worker.receive(tally) if there else not worker.overdue(tally):
                continue
            worker.end()
            workers.remove(worker)
            if worker.numbers:
                waiting.append(worker.numbers)
    return tally


def main() -> int:
    """Read the inputs, print the figures, and exit with 1 if there was a fault."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=86_400, help="stop after this time")
    parser.add_argument("--only", type=int, help="read only the input with this number")
    asked = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="podium-hostile.") as top:
        if asked.only is None:
            end = begun + asked.seconds
            tally = run(asked.count, asked.seed, asked.jobs, Path(top), end)
        else:
            tally = Tally()
            tally.add(read_one(Calls(Path(top, "in")), asked.seed, asked.only))
    print("\n".join(tally.lines()))
    print(f"seed {asked.seed}, {time.monotonic() - begun:.0f} s, load {os.getloadavg()[0]:.1f}")
    for fault in tally.faults:
        print(f"FAULT {fault}")
    return 1 if tally.faults or tally.slow or tally.large else 0


if __name__ == "__main__":
    sys.exit(main())
