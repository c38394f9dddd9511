"""Kill podium at random moments and look at what is left: `make kills N=2000`.

A round starts one act in processes of its own, sends SIGKILL, SIGTERM or SIGINT at a moment drawn
from the act's usual time, and judges what lies on the disk:

- loggers: every line whose call had returned is in the log, whole and once; nothing is mixed;
- pack, bundle, unpack, init, system init, results build: the old tree, file or store or the new
  one; the source untouched; the next call succeeds and leaves nothing else behind.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from podium.compliance.exit_codes import Exit
from podium.compliance.files.staging import PREFIX
from tests.compliance.tools.store.seen import seen

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)

WRITERS = """
import os, signal, sys
path, api, count, long, acks = sys.argv[1:]
os.setpgid(0, 0)
if api == "logger":
    from podium import Logger
    log = Logger(path, rank=0)
else:
    from podium import mllog
    mllog.config(filename=path)
    log = mllog.get_mllogger()
    log.logger.handlers = log.logger.handlers[1:]  # not to stdout, too
group = os.getpid()
for who in range(int(count)):
    if os.fork() == 0:
        said = os.open(f"{acks}.{who}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        for number in range(10**9):
            if os.getppid() != group:
                os._exit(0)  # whoever is to kill this was killed, and the disk is not to fill up
            size = (number * 7919 + who) % 197
            if long == "1" and number % 5 == who % 5:
                size += 65_536 + number % 9000
            log.event("tracked_stats", {"who": who, "number": number, "pad": "x" * size})
            os.write(said, b"%d\\n" % number)
print("started", flush=True)
sys.stdin.read()  # ends with the harness
os.killpg(0, signal.SIGKILL)
"""


@dataclass
class Tally:
    """How many kills of each kind came to what."""

    kills: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    processes: int = 0
    lines: int = 0
    pieces: int = 0
    removed: int = 0

    def __str__(self) -> str:
        each = "\n".join(f"  {name:34} {count:5}" for name, count in sorted(self.kills.items()))
        total = sum(self.kills.values())
        return (
            f"{each}\n{total} kills of {self.processes} processes, {self.lines} acknowledged "
            f"lines, {self.pieces} pieces of unacknowledged ones, {self.removed} folders left and "
            f"removed by the next call; {len(self.faults)} faults"
        )


# --- loggers ---


def kill_writers(place: Path, chance: random.Random, tally: Tally) -> None:
    """Kill a group of writers of one log, three times, each time followed by others."""
    api, long = chance.choice(["logger", "mllog"]), chance.random() < 0.5
    log, expected = place / "result_0.txt", Counter[str]()
    for turn in range(3):
        count, how = chance.choice([1, 2, 4, 16]), chance.choice(SIGNALS)
        acks = place / f"acks{turn}"
        words = [str(log), api, str(count), str(int(long)), str(acks)]
        with subprocess.Popen(
            [sys.executable, "-c", WRITERS, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as group:
            assert group.stdout
            group.stdout.readline()
            time.sleep(chance.random() * 0.15)
            os.killpg(group.pid, how)
            group.wait(30)
        tally.processes += count
        tally.kills[f"{api}{' long' if long else ''} {how.name} of {count}"] += 1
        for who in range(count):
            file = Path(f"{acks}.{who}")
            numbers = file.read_text().split() if file.exists() else []
            expected.update(f"{who}:{number}" for number in numbers)
    tally.lines += expected.total()
    for fault in lost_or_mixed(log, expected, tally):
        tally.faults.append(f"{api} long={long}: {fault}")


def lost_or_mixed(log: Path, expected: Counter[str], tally: Tally) -> list[str]:
    """What is wrong with a log in which these lines were acknowledged."""
    found: Counter[str] = Counter()
    faults = []
    for line in log.read_bytes().split(b"\n") if log.exists() else ():
        if line.count(b":::MLLOG") > 1:
            faults.append(f"mixed: {line[:80]!r} of {len(line)} bytes")
        elif line.strip():
            try:
                value = json.loads(line.removeprefix(b":::MLLOG "))["value"]
            except ValueError:
                # Of the line that was being written; but only its beginning, and no other's end
                tally.pieces += 1
                if not b':::MLLOG {"namespace": "", "time_ms": '.startswith(line[:38]):
                    faults.append(f"not the beginning of a line: {line[:80]!r}")
                continue
            found[f"{value['who']}:{value['number']}"] += 1
    lost = expected - found
    if lost:
        faults.append(f"lost {lost.total()}: {list(lost)[:5]}")
    return faults


# --- commands ---


def content(path: Path) -> dict[str, bytes]:
    """Every file at or below a path."""
    if path.is_file():
        return {"": path.read_bytes()}
    found = sorted(each for each in path.rglob("*") if each.is_file())
    return {each.relative_to(path).as_posix(): each.read_bytes() for each in found}


@dataclass(frozen=True)
class Act:
    """A command that writes `target`, and what prepares the folder: both get the working folder."""

    name: str
    words: Callable[[Path], list[str]]
    target: Callable[[Path], Path]
    again: tuple[str, ...] = ()
    fresh: bool = False  # it writes only where nothing is
    shown: Callable[[Path], dict[str, bytes]] = content


ACTS = (
    Act(
        "pack",
        lambda at: ["pack", str(at / "work"), "--replace", "."],
        lambda at: at / "work/packed",
    ),
    Act(
        "bundle",
        lambda at: ["bundle", str(at / "tree"), str(at / "Acme.tar.gz"), "--replace"],
        lambda at: at / "Acme.tar.gz",
    ),
    Act(
        "unpack",
        lambda at: ["unpack", str(at / "given.tar.gz"), "--output", str(at / "out")],
        lambda at: at / "out",
        fresh=True,
    ),
    Act(
        "init",
        lambda at: ["init", str(at / "new"), "--submitter", "A", "--round", "5.1", "--system", "n"],
        lambda at: at / "new",
        fresh=True,
    ),
    Act(
        "system init",
        lambda at: [
            *("system", "init", str(at / "n8.json"), "--round", "5.1"),
            *("--no-probe", "--replace"),
        ],
        lambda at: at / "n8.json",
    ),
    Act(
        "results build",
        lambda at: [
            *("results", "build", str(at / "tree"), "--round", "5.1"),
            *("--output", str(at / "store")),
        ],
        lambda at: at / "store",
        shown=lambda store: seen(content(store)),
    ),
)


def podium(words: list[str]) -> subprocess.Popen[bytes]:
    """Start a command."""
    line = [sys.executable, "-m", "podium", *words]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def ended_well(status: int, said: str) -> bool:
    """Whether an interrupted command ended as it should, by its exit status and standard error.

    A traceback is Python's own only where no line of it is podium's: Python was still starting.
    """
    if "Traceback" in said:
        # 1 is that of a Python that could not load what it needs itself. An interrupt that came up
        # in a callback of its imports it forgets, says so, and starts podium all the same
        ends = 0 if said.startswith(FORGOTTEN) else 1
        return status in (-signal.SIGINT, ends) and OWN not in said
    # Interrupted before Python has a handler, the kernel ends it without a word
    if status == -signal.SIGINT:
        return not said
    return status == 0 or (status == Exit.INTERRUPTED and said.endswith(INTERRUPTED))


OWN, INTERRUPTED = "/podium/", "podium: interrupted\n"
"""What a traceback through podium's own files has in it, and what an interrupt says."""
FORGOTTEN = "Exception ignored in: "


@dataclass
class Bench:
    """A working folder for one act: both versions of its source and its target, and its time."""

    act: Act
    place: Path
    versions: list[dict[str, bytes]] = field(default_factory=list)
    seconds: float = 1.0

    def prepare(self) -> None:
        """Make the target from the first source and from the second."""
        for number in range(2):
            self.set_source(number)
            began = time.monotonic()
            with podium([*self.act.words(self.place), *self.act.again]) as command:
                assert command.wait(120) == 0, command.stderr.read() if command.stderr else b""
            self.seconds = time.monotonic() - began
            self.versions.append(self._shown())
            if self.act.fresh:
                self.clear()
        if self.act.fresh:
            self.versions[0] = {}
        elif self.act.name != "system init":
            assert self.versions[0] != self.versions[1]

    def clear(self) -> None:
        """Remove the target."""
        target = self.act.target(self.place)
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)

    def set_source(self, number: int) -> None:
        """Let the sources be the old or the new ones."""
        text = f"import number_{number}\n"
        for folder in ("work/src", "tree"):
            (self.place / folder / "more.py").write_text(text)

    def source(self) -> dict[str, bytes]:
        """What the act reads and must not touch."""
        paths = ("work/runs", "work/src", "work/sys.json", "work/podium.toml", "tree")
        found = {path: content(self.place / path) for path in paths}
        return {f"{path}/{name}": data for path, one in found.items() for name, data in one.items()}

    def kill(self, chance: random.Random, tally: Tally) -> None:
        """Start from the old target and kill the call that makes the new one."""
        how = chance.choice(SIGNALS)
        self.set_source(1)
        before = self.source()
        with podium(self.act.words(self.place)) as command:
            time.sleep(chance.random() * self.seconds * 1.1)
            command.send_signal(how)
            command.wait(120)
            said = (command.stderr.read() if command.stderr else b"").decode()
        tally.kills[f"{self.act.name} {how.name}"] += 1
        tally.processes += 1
        about = f"{self.act.name}, {how.name}, status {command.returncode}"
        if self.source() != before:
            tally.faults.append(f"{about}: the source is not what it was")
        if self._whole() not in self.versions:
            tally.faults.append(f"{about}: neither the old nor the new is there")
        if how == signal.SIGINT and not ended_well(command.returncode, said):
            tally.faults.append(f"{about}: {said[-300:]}")
        self._again(about, tally)

    def _whole(self) -> dict[str, bytes]:
        """What is at the target, but for the unfinished, which the next call removes."""
        return {name: data for name, data in self._shown().items() if not name.startswith(PREFIX)}

    def _shown(self) -> dict[str, bytes]:
        return self.act.shown(self.act.target(self.place))

    def _again(self, about: str, tally: Tally) -> None:
        """The next call recovers; then the old target is put back."""
        if self.act.fresh:
            self.clear()
        before = [*self.act.target(self.place).parent.rglob(f"{PREFIX}*")]
        tally.removed += len(before)
        for left in before:
            # As if a minute had gone by: one without a marker may just be made
            os.utime(left, (time.time() - 60, time.time() - 60))
        with podium(self.act.words(self.place)) as command:
            status = command.wait(120)
            said = (command.stderr.read() if command.stderr else b"").decode()
        if status != 0 or self._shown() != self.versions[1]:
            tally.faults.append(f"{about}, then status {status}: {said[-300:]}")
        for left in self.place.rglob(f"{PREFIX}*"):
            tally.faults.append(f"{about}, then {left.name} is left: {said[-300:]}")
            shutil.rmtree(left, ignore_errors=True)
        if self.act.fresh:
            self.clear()
            return
        target = self.act.target(self.place)
        if self.act.shown is not content:
            self._make_old()
        elif target.is_dir():
            self._restore(target)
        else:
            target.write_bytes(self.versions[0][""])

    def _make_old(self) -> None:
        """Let the command itself bring the old target back."""
        self.set_source(0)
        with podium(self.act.words(self.place)) as command:
            assert command.wait(120) == 0
        assert self._shown() == self.versions[0]

    def _restore(self, target: Path) -> None:
        for name in self.versions[1].keys() - self.versions[0].keys():
            (target / name).unlink()
        for name, data in self.versions[0].items():
            (target / name).write_bytes(data)


def make_bench(act: Act, place: Path) -> Bench:
    """A working folder with loose files of a submission, a tree and a bundle of it."""
    from tests.compliance.packs import Loose

    loose = Loose(place)
    shutil.copytree(loose.original.root, place / "tree")
    (place / "tree/more.txt").write_bytes(b"words " * 2_000_000)
    with podium(["bundle", str(place / "tree"), str(place / "given.tar.gz")]) as command:
        assert command.wait(120) == 0
    bench = Bench(act, place)
    bench.prepare()
    bench.set_source(0)
    if not act.fresh:
        with podium(act.words(place)) as command:
            assert command.wait(120) == 0
    return bench


def run(
    count: int,
    seed: int,
    loggers: float = 0.5,
    seconds: float = math.inf,
    progress: Callable[[Tally], object] = lambda _: None,
) -> Tally:
    """So many kills, a share of them of loggers, or as many as there is time for."""
    # A shell may start what runs in the background with interrupts ignored, which is inherited
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tally, chance = Tally(), random.Random(seed)
    end = time.monotonic() + seconds
    # An interrupt of the harness itself ends it with what it has
    with tempfile.TemporaryDirectory(prefix="podium-kills.") as top, suppress(KeyboardInterrupt):
        # Half of the time, as commands take longer
        while (
            sum(tally.kills.values()) < count * loggers
            and time.monotonic() < end - min(seconds, 1e9) / 2
        ):
            place = Path(tempfile.mkdtemp(dir=top))
            kill_writers(place, chance, tally)
            shutil.rmtree(place)
            progress(tally)
        benches = []
        # One kill of each at least: what has none need not be made
        for act in ACTS[: max(0, count - sum(tally.kills.values()))]:
            place = Path(top) / act.name.replace(" ", "-")
            place.mkdir()
            benches.append(make_bench(act, place))
        turn = 0
        while sum(tally.kills.values()) < count and time.monotonic() < end:
            benches[turn % len(benches)].kill(chance, tally)
            turn += 1
            progress(tally)
    return tally


def show_progress(tally: Tally) -> None:
    """One line to stderr for each hundred kills, so that an early end leaves a count."""
    kills = sum(tally.kills.values())
    if not kills % 100:
        sys.stderr.write(f"{kills} kills, {len(tally.faults)} faults\n")


def main() -> int:
    """Kill, print the tally, and end with 1 where there was a fault."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loggers", type=float, default=0.5, help="their share of the kills")
    parser.add_argument("--seconds", type=float, default=86_400, help="end after so long")
    asked = parser.parse_args()
    began = time.monotonic()
    tally = run(asked.count, asked.seed, asked.loggers, asked.seconds, show_progress)
    sys.stdout.write(f"{tally}\nseed {asked.seed}, {time.monotonic() - began:.0f} s\n")
    sys.stdout.writelines(f"FAULT {fault}\n" for fault in tally.faults)
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
