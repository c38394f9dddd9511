"""Speed of `podium check`: against the official checker, a bare pass, logs only; and its start.

The round with source code is the largest round in FOLDER, with as much synthetic code as a
published round has for its logs.

    python benchmarks/check.py [FOLDER] [--every N]

All measurements are in one run on the same logs, so only the ratios are meaningful. They use CPU
time, except for several processes, where they use wall time. A bare pass reads each file, finds the
token and decodes each record with the fastest JSON library. Packages are the rounds in FOLDER,
compared with their logs checked as loose logs. The start is that of whole processes.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import logging
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from made_up_code import add_code  # noqa: E402 - a script finds the packages now

from podium.compliance.judging.inputs.discover import PathKind, kinds_of, targets  # noqa: E402
from podium.compliance.judging.inputs.round_selection import RoundRequest  # noqa: E402
from podium.compliance.judging.options import Options  # noqa: E402
from podium.compliance.judging.pipeline import check_paths  # noqa: E402
from podium.rules.finding import Profile  # noqa: E402

MEMORY_BAR_MB = 300
START_BAR_MS = 250
CODE_TO_VERIFIER_BAR, CODE_TO_BARE_BAR, CODE_MEMORY_BAR_MB = 1.8, 4.0, 100
STARTS = 11
"""Number of processes that are started; the median counts."""


def bare_pass(logs: list[Path]) -> int:
    """Read, find the token, decode; returns the number of records."""
    import orjson

    count = 0
    for path in logs:
        with path.open("rb") as stream:
            for line in stream:
                at = line.find(b":::MLLOG ")
                if at >= 0:
                    payload = line[at + 9 :]
                else:
                    at = line.find(b":::MLL ")
                    if at < 0:
                        continue
                    payload = line[line.find(b": {", at) + 2 :]
                try:
                    orjson.loads(payload)
                    count += 1
                except orjson.JSONDecodeError:
                    continue
    return count


def official(logs: list[Path]) -> None:
    """The official tool's check of each log, in this process, at its best speed."""
    from mlperf_logging.compliance_checker import mlp_compliance

    logging.disable(logging.CRITICAL)
    with contextlib.redirect_stdout(io.StringIO()):
        for path in logs:
            rules = RoundRequest().choose(path.parent).rules
            config = f"{rules.usage}_{rules.name}.0/common.yaml"
            mlp_compliance.enqueued_configs.clear()
            checker = mlp_compliance.make_checker(rules.usage, f"{rules.name}.0", True, False)
            with contextlib.suppress(Exception):  # it crashes on some logs
                mlp_compliance.main(str(path), config, checker)
    logging.disable(logging.NOTSET)


class Spent(NamedTuple):
    """Seconds of CPU time in this process only, and of wall time."""

    cpu: float
    wall: float


def timed(works: Sequence[Callable[[], object]], repeats: int) -> list[Spent]:
    """The minimum over several runs of each, which has the least noise.

    They alternate, so that a slow phase of the machine affects all of them.
    """
    runs: list[list[Spent]] = [[] for _ in works]
    for _ in range(repeats):
        for work, spent in zip(works, runs, strict=True):
            cpu, wall = time.process_time(), time.perf_counter()
            work()
            spent.append(Spent(time.process_time() - cpu, time.perf_counter() - wall))
    return [Spent(min(r.cpu for r in spent), min(r.wall for r in spent)) for spent in runs]


def peak_memory_mb(folder: Path) -> float:
    """Peak resident memory of `podium check FOLDER --jobs 1`, in a separate process."""
    words = ["podium", "check", str(folder), "--jobs", "1", "--format", "json"]
    command = [sys.executable, "-c", _WITH_PEAK, *words]
    done = subprocess.run(command, cwd=ROOT / "src", capture_output=True, check=False)
    return int(done.stderr.split()[-1]) / 1024


_WITH_PEAK = """
import atexit, re, sys
from pathlib import Path

def peak():
    # getrusage also counts the process that started this one
    sys.stderr.write(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

atexit.register(peak)
sys.argv = sys.argv[1:]
from podium.compliance.cli.entry import main
sys.exit(main())
"""


def command_seconds(arguments: list[str]) -> float:
    """CPU seconds of `podium` with these arguments, summed over all its processes."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "podium", *arguments]
    out = subprocess.DEVNULL
    subprocess.run(command, cwd=ROOT, stdout=out, check=False, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def start_ms(arguments: list[str]) -> float:
    """Median CPU milliseconds of `podium` with these arguments, with compiled bytecode."""
    spent = [command_seconds(arguments) for _ in range(STARTS + 1)]
    return statistics.median(spent[1:]) * 1000


def command_ratio(folder: Path, profile: Profile) -> float:
    """The ratio of `podium check ROUND` to `podium check LOG…`, including the start."""
    alone = whole = 0.0
    for entry, logs in rounds_in(folder):
        rules = RoundRequest().choose(entry).rules
        named = ["--usage", rules.usage, "--round", rules.name, *map(str, logs)]
        options = ["check", "--jobs", "1", "--profile", profile.value]
        turns = [
            (command_seconds([*options, *named]), command_seconds([*options, str(entry)]))
            for _ in range(5)
        ]
        alone, whole = alone + min(t[0] for t in turns), whole + min(t[1] for t in turns)
    return whole / alone if alone else float("nan")


def rounds_in(folder: Path) -> Iterator[tuple[Path, list[Path]]]:
    """The rounds in a folder, each with its logs."""
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and kinds_of([entry])[entry].kind is PathKind.ROUND:
            yield entry, [Path(target.path) for target in targets(kinds_of([entry]))]


def package_ratio(folder: Path, profile: Profile) -> float:
    """The ratio of the rounds in a folder to their logs only."""
    options = Options(profile=profile)
    alone = whole = 0.0
    for entry, logs in rounds_in(folder):
        works = [functools.partial(check_paths, paths, options) for paths in (logs, [entry])]
        spent = timed(works, 5)
        alone, whole = alone + spent[0].cpu, whole + spent[1].cpu
    return whole / alone if alone else float("nan")


class WithCode(NamedTuple):
    """CPU seconds for a round with source code, and the peak memory of its check."""

    bare: float
    verifier: float
    policy: float
    memory_mb: float


def check_with_code(folder: Path) -> WithCode:
    """Check the round with the most bytes of logs, and synthetic code, in each profile."""
    source, _ = max(rounds_in(folder), key=lambda each: sum(log.stat().st_size for log in each[1]))
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place, source.name)
        shutil.copytree(source, copy, copy_function=shutil.copyfile)
        [(_, logs)] = rounds_in(Path(place))
        add_code(copy, logs)
        checks = [
            functools.partial(check_paths, [copy], Options(profile=profile))
            for profile in (Profile.VERIFIER, Profile.POLICY)
        ]
        spent = timed([lambda: bare_pass(logs), *checks], 7)
        bare, verifier, policy = (each.cpu for each in spent)
        memory = peak_memory_mb(copy)
        return WithCode(bare=bare, verifier=verifier, policy=policy, memory_mb=memory)


def print_with_code(spent: WithCode) -> None:
    """Print the figures of a round with source code, with the targets."""
    rows = (
        ("policy : verifier profile", spent.policy / spent.verifier, CODE_TO_VERIFIER_BAR),
        ("policy profile : bare pass", spent.policy / spent.bare, CODE_TO_BARE_BAR),
    )
    print("round with source code")
    for name, ratio, bar in rows:
        print(f"{f'  {name}':28} {ratio:7.2f} x   (bar {bar})")
    print(f"{'  peak memory':28} {spent.memory_mb:7.0f} MB  (bar {CODE_MEMORY_BAR_MB})")


def smallest(logs: list[Path]) -> Path:
    """The smallest log: the fixed cost of a check."""
    return min(logs, key=lambda path: path.stat().st_size)


def main() -> None:
    """Measure, print the table, and say which bars are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = ROOT.parent / "shared" / "corpus"
    parser.add_argument("folder", type=Path, nargs="?", default=default)
    parser.add_argument("--every", type=int, default=4, help="officially check every Nth log")
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        sys.exit(f"{arguments.folder}: no such folder; name one with published results")
    found = [Path(target.path) for target in targets(kinds_of([arguments.folder]))]
    judged = [path for path in found if RoundRequest().choose(path.parent).rules.verified]
    sample = judged[:: arguments.every]
    size = sum(path.stat().st_size for path in sample) / 1e6
    print(f"{len(sample)} of {len(judged)} logs, {size:.0f} MB, {os.cpu_count()} cores")

    def podium(profile: Profile, jobs: int) -> Callable[[], object]:
        return lambda: check_paths(sample, Options(profile=profile, jobs=jobs))

    works = [lambda: bare_pass(sample), *(podium(profile, 1) for profile in Profile)]
    bare, *ours = [spent.cpu for spent in timed(works, 11)]
    one = dict(zip(Profile, ours, strict=True))
    (two,) = [spent.wall for spent in timed([podium(Profile.VERIFIER, 2)], 5)]
    (slow,) = timed([lambda: official(sample)], 1)
    memory = peak_memory_mb(arguments.folder)
    verifier, policy = one[Profile.VERIFIER], one[Profile.POLICY]
    rows = [
        ("bare pass", bare, ""),
        ("podium, verifier profile", verifier, f"{verifier / bare:.2f} x bare (bar 1.8)"),
        ("podium, policy profile", policy, f"{policy / bare:.2f} x bare (bar 1.8)"),
        ("podium, 2 processes", two, f"{slow.wall / two:.0f} x the official speed (bar 45)"),
        (
            "official checker",
            slow.cpu,
            f"{slow.cpu / verifier:.0f} x podium's time with 1 process (bar 25)",
        ),
    ]
    for name, seconds, note in rows:
        print(f"{name:26} {seconds * 1000:9.0f} ms  {note}")
    print(f"{'peak memory, whole folder':26} {memory:9.0f} MB  (bar {MEMORY_BAR_MB})")
    starts = {"--help": ["--help"], "check of one small log": ["check", str(smallest(judged))]}
    for name, words in starts.items():
        print(f"{name:26} {start_ms(words):9.0f} ms  of CPU (bar {START_BAR_MS})")
    for profile in Profile:
        ratio = command_ratio(arguments.folder, profile)
        print(f"{f'packages, {profile} profile':26} {ratio:9.2f} x their logs alone (bar 1.5)")
        ratio = package_ratio(arguments.folder, profile)
        print(f"{'  within one process':26} {ratio:9.2f} x, without the start of either")
    print_with_code(check_with_code(arguments.folder))


if __name__ == "__main__":
    main()
