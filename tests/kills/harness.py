"""Kill podium at random moments and check the files that remain: `make kills N=2000`.

A round starts one command in separate processes, sends SIGKILL, SIGTERM or SIGINT at a random
moment of its usual run time, and checks the files on the disk:

- loggers: every line whose call returned is in the log, complete and once; lines are not mixed;
- commands of `acts`: the target is the old or the new version (with `fix`, each file is), the
  source is unchanged, and no process outlives its command. The next call succeeds and leaves no
  temporary files.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
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
from tests.kills.acts import ACTS, Act, Content, content

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
                os._exit(0)  # the killing process is gone; stop before the disk is full
            size = (number * 7919 + who) % 197
            if long == "1" and number % 5 == who % 5:
                size += 65_536 + number % 9000
            log.event("tracked_stats", {"who": who, "number": number, "pad": "x" * size})
            os.write(said, b"%d\\n" % number)
# Python would miss an interrupt just before the call that blocks; the kernel does not
signal.signal(signal.SIGINT, signal.SIG_DFL)
print("started", flush=True)
sys.stdin.read()  # ends with the harness
os.killpg(0, signal.SIGKILL)
"""


@dataclass
class Tally:
    """The number of kills of each kind, and the errors that they showed."""

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
    """Kill a group of writers of one log, three times in a row."""
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
    """Return the errors of a log in which these lines were acknowledged."""
    found: Counter[str] = Counter()
    faults = []
    for line in log.read_bytes().split(b"\n") if log.exists() else ():
        if line.count(b":::MLLOG") > 1:
            faults.append(f"mixed: {line[:80]!r} of {len(line)} bytes")
        elif line.strip():
            try:
                value = json.loads(line.removeprefix(b":::MLLOG "))["value"]
            except ValueError:
                # The line that was being written may be incomplete, but not mixed
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


def podium(words: list[str]) -> subprocess.Popen[bytes]:
    """Start a command in a new session, which identifies its processes."""
    line = [sys.executable, "-m", "podium", *words]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(line, **streams, start_new_session=True)


def orphans(session: int, seconds: float = 30) -> list[int]:
    """Kill and return the processes of a session that do not end in time."""
    end = time.monotonic() + seconds
    while (found := processes_of(session)) and time.monotonic() < end:
        time.sleep(0.05)
    for process in found:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return found


def processes_of(session: int) -> list[int]:
    """Return the running processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name in parentheses may contain any character
            state, _, _, of = path.read_text().rpartition(")")[2].split()[:4]
            if int(of) == session and state not in "ZX":
                found.append(int(path.parent.name))
    return found


def has_own_frame(said: str) -> bool:
    """Return whether a traceback has a frame in a module of podium."""
    return re.search(r'File "[^"]*/podium/[\w/]*\.py"', said) is not None


def ended_well(status: int, said: str, statuses: tuple[int, ...] = (0,)) -> bool:
    """Return whether the exit status and standard error of an interrupted command are correct.

    `statuses` are the exit statuses of a command that ends before it is interrupted.

    A traceback is accepted only without a frame of podium: Python was still starting.
    """
    if "Traceback" in said:
        # Python exits with 1 if it cannot finish its own start. It reports and ignores an interrupt
        # in a callback of its imports, and then starts podium
        ends = 0 if said.startswith(FORGOTTEN) else 1
        return status in (-signal.SIGINT, ends) and not has_own_frame(said)
    # Before Python installs its handler, the kernel ends the process without a message
    if status == -signal.SIGINT:
        return not said
    return status in statuses or (status == Exit.INTERRUPTED and said.endswith(INTERRUPTED))


INTERRUPTED = "podium: interrupted\n"
"""The last line of an interrupted command."""
FORGOTTEN = "Exception ignored in: "


@dataclass
class Bench:
    """A working folder for one command, with both versions of its target and its run time."""

    act: Act
    place: Path
    versions: list[Content] = field(default_factory=list)
    seconds: float = 1.0

    def prepare(self) -> None:
        """Create the target from the old source and from the new source."""
        for number in range(2):
            self.set_source(number)
            if number == 0 and self.act.first is not None:
                self.act.first(self.place)
                self.versions.append(self._shown())
                continue
            began = time.monotonic()
            with podium(self.act.words(self.place)) as command:
                status = command.wait(120)
                assert status in self.act.statuses, command.stderr and command.stderr.read()
            self.seconds = time.monotonic() - began
            self.versions.append(self._shown())
            if self.act.fresh:
                self.clear()
        if self.act.fresh:
            self.versions[0] = {}
        else:
            assert self.act.same is (self.versions[0] == self.versions[1])

    def clear(self) -> None:
        """Remove the target."""
        target = self.act.target(self.place)
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)

    def set_source(self, number: int) -> None:
        """Write the old or the new sources."""
        text = f"import number_{number}\n"
        for folder in ("work/src", "tree"):
            (self.place / folder / "more.py").write_text(text)

    def source(self) -> Content:
        """Return the files that the command reads and must not change."""
        paths = ("work/runs", "work/src", "work/sys.json", "work/podium.toml", "tree")
        found = {path: content(self.place / path) for path in paths}
        return {f"{path}/{name}": data for path, one in found.items() for name, data in one.items()}

    def kill(self, chance: random.Random, tally: Tally) -> None:
        """Start from the old target and kill the call that writes the new target."""
        how = chance.choice(SIGNALS)
        self.set_source(1)
        before = self.source()
        with podium(self.act.words(self.place)) as command:
            time.sleep(chance.random() * self.seconds * 1.1)
            command.send_signal(how)
            command.wait(120)
            # Before standard error is read, because an orphan would keep it open
            living = orphans(command.pid)
            said = (command.stderr.read() if command.stderr else b"").decode()
        tally.kills[f"{self.act.name} {how.name}"] += 1
        tally.processes += 1
        about = f"{self.act.name}, {how.name}, status {command.returncode}"
        if living:
            tally.faults.append(f"{about}: {len(living)} processes outlive it")
        if self.source() != before:
            tally.faults.append(f"{about}: the source is not what it was")
        if not self.act.whole(self._whole(), self.versions):
            tally.faults.append(f"{about}: neither the old nor the new is there")
        statuses = self.act.statuses
        if how == signal.SIGINT and not ended_well(command.returncode, said, statuses):
            tally.faults.append(f"{about}: {said[-300:]}")
        self._again(about, tally)

    def _whole(self) -> Content:
        """Return the target without unfinished files, which the next call removes."""
        return {name: data for name, data in self._shown().items() if PREFIX not in name}

    def _shown(self) -> Content:
        return self.act.shown(self.act.target(self.place))

    def _again(self, about: str, tally: Tally) -> None:
        """Check that the next call recovers, and restore the old target."""
        if self.act.fresh:
            self.clear()
        before = [each for each in self.place.rglob(f"{PREFIX}*") if each.is_dir()]
        tally.removed += len(before)
        for left in before:
            # The folder must look a minute old: a newer folder without a marker may be in use
            os.utime(left, (time.time() - 60, time.time() - 60))
        with podium(self.act.words(self.place)) as command:
            status = command.wait(120)
            said = (command.stderr.read() if command.stderr else b"").decode()
        if status not in self.act.statuses or self._shown() != self.versions[1]:
            tally.faults.append(f"{about}, then status {status}: {said[-300:]}")
        for left in [*self.place.rglob(f"{PREFIX}*")]:
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
        """Restore the old target by running the command."""
        self.set_source(0)
        with podium(self.act.words(self.place)) as command:
            assert command.wait(120) in self.act.statuses
        assert self._shown() == self.versions[0]

    def _restore(self, target: Path) -> None:
        for name in self.versions[1].keys() - self.versions[0].keys():
            (target / name).unlink()
        for name, data in self.versions[0].items():
            (target / name).write_bytes(data)


def make_bench(act: Act, place: Path) -> Bench:
    """Return a working folder with the loose files, the tree and the bundle of a submission."""
    from tests.compliance.packs import Loose

    loose = Loose(place)
    shutil.copytree(loose.original.root, place / "tree")
    (place / "tree/more.txt").write_bytes(b"words " * 2_000_000)
    # Large enough for worker processes
    for log in (place / "tree").glob("results/*/*/result_*.txt"):
        log.write_bytes(log.read_bytes() + b"a line of a framework\n" * 100_000)
    with podium(["bundle", str(place / "tree"), str(place / "given.tar.gz")]) as command:
        assert command.wait(120) == 0
    if act.before is not None:
        with podium(act.before(place)) as command:
            assert command.wait(120) == 0
    bench = Bench(act, place)
    bench.prepare()
    bench.set_source(0)
    if act.first is not None:
        act.first(place)
    elif not act.fresh:
        with podium(act.words(place)) as command:
            assert command.wait(120) in act.statuses
    return bench


def run(
    count: int,
    seed: int,
    loggers: float = 0.5,
    seconds: float = math.inf,
    progress: Callable[[Tally], object] = lambda _: None,
) -> Tally:
    """Do `count` kills, a share of them on loggers, or as many as the time allows."""
    # A shell may start background jobs with SIGINT ignored, and child processes inherit this
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tally, chance = Tally(), random.Random(seed)
    end = time.monotonic() + seconds
    # An interrupt of the harness itself ends it with the results so far
    with tempfile.TemporaryDirectory(prefix="podium-kills.") as top, suppress(KeyboardInterrupt):
        # Loggers get at most half of the time, because commands are slower
        while (
            sum(tally.kills.values()) < count * loggers
            and time.monotonic() < end - min(seconds, 1e9) / 2
        ):
            place = Path(tempfile.mkdtemp(dir=top))
            kill_writers(place, chance, tally)
            shutil.rmtree(place)
            progress(tally)
        benches = []
        # Prepare only commands that get at least one kill
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
    """Print the count to stderr every hundred kills, in case the run ends early."""
    kills = sum(tally.kills.values())
    if not kills % 100:
        sys.stderr.write(f"{kills} kills, {len(tally.faults)} faults\n")


def main() -> int:
    """Run the kills, print the tally, and return 1 if there was an error."""
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
