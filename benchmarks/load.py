"""Resource use of podium under load: a large round, a full folder, a huge log, many live logs.

    python benchmarks/load.py round [--times 10] [--corpus FOLDER]
    python benchmarks/load.py folder [--files 100000]
    python benchmarks/load.py log [--gigabytes 20]
    python benchmarks/load.py watch [--logs 1000] [--seconds 600]

Each generates its input in a temporary folder below `--place`, calls the command like a shell, and
prints the cost next to the bar. Memory is that of all its processes together, with shared pages
counted once; time is CPU time, which other work on the machine affects less.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import zstandard

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.builders import build  # noqa: E402 - a script finds the packages now
from tests.compliance.trees import usual  # noqa: E402

LOGS_OF_5_1 = 1669
"""Number of logs in the published round 5.1."""
MB = 1 << 20


class Took(NamedTuple):
    """Exit status, seconds of wall and CPU time, peak megabytes, bytes printed."""

    status: int
    wall: float
    cpu: float
    megabytes: float
    printed: int


def family(pid: int) -> Iterator[int]:
    """A process and all its descendants."""
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from family(int(child))


def held(pid: int) -> float:
    """Megabytes of a process and its descendants, with shared pages counted once.

    Mapped files, mostly libraries, are counted for the first process only, since all share them.
    """
    total = 0
    for one in family(pid):
        with suppress(OSError):
            text = Path(f"/proc/{one}/smaps_rollup").read_text()
            sizes = {name: int(size) for name, size in re.findall(r"^(\w+):\s+(\d+)", text, re.M)}
            total += sizes.get("Pss_Anon", sizes["Pss"])
            if one == pid:
                total += sizes["Rss"] - sizes["Anonymous"]
    return total / 1024


def called(words: list[str], place: Path, most: float = 3600.0) -> Took:
    """Call podium; interrupt it after `most` seconds."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}"}
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = 0
    with subprocess.Popen(
        [sys.executable, "-m", "podium", *words],
        cwd=place,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout
        stream, largest = process.stdout, 0.0

        def drain() -> None:
            nonlocal printed
            while block := stream.read1(MB):
                printed += len(block)

        reader = threading.Thread(target=drain)
        reader.start()
        while process.poll() is None:
            largest = max(largest, held(process.pid))
            time.sleep(0.2)
            if time.monotonic() - begun > most:
                process.kill()
        reader.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(process.returncode, time.monotonic() - begun, cpu, largest, printed)


def print_row(what: str, took: Took, most: float | None = None) -> bool:
    """Print a line; whether the memory is within its bar."""
    bar = "" if most is None else f" (bar {most:.0f})"
    print(
        f"{what:28} exit {took.status}  {took.wall:7.1f} s  {took.cpu:7.1f} s CPU  "
        f"{took.megabytes:6.0f} MB{bar}",
        flush=True,
    )
    return most is None or took.megabytes <= most


# --- a round ---


def copy_round(corpus: Path, to: Path, copies: int) -> int:
    """Copy a round's submissions with separate names and shifted clocks; returns their logs."""
    logs = 0
    for number in range(copies):
        late = (number + 1) * 1_000_003

        def moved(found: re.Match[bytes], late: int = late) -> bytes:
            return found[1] + b"%d" % (int(found[2]) - late)

        for source in (each for each in corpus.rglob("*") if each.is_file()):
            submitter, *below = source.relative_to(corpus).parts
            target = to.joinpath(f"{submitter}{number}", *below)
            target.parent.mkdir(parents=True, exist_ok=True)
            data = source.read_bytes()
            if source.name.startswith("result_"):
                data = re.sub(rb'("time_ms": ?)(\d{13})', moved, data)
                logs += 1
            target.write_bytes(data)
    return logs


def load_round(asked: argparse.Namespace, place: Path) -> bool:
    """A round with a multiple of 5.1's logs, and one with a tenth of that."""
    corpus = asked.corpus / "training_results_v5.0"
    per_copy = sum(1 for _ in corpus.rglob("result_*"))
    rates = []
    fits = True
    for times in (asked.times / 10, asked.times):
        top = place / "training_results_v5.0"
        logs = copy_round(corpus, top, math.ceil(times * LOGS_OF_5_1 / per_copy))
        took = called(["check", str(top), "--round", "5.0", "--jobs", "2", "--quiet"], place)
        fits &= print_row(f"{logs} logs, 2 jobs", took, 1024)
        rates.append(took.cpu / logs)
        shutil.rmtree(top)
    growth = rates[1] / rates[0]
    print(f"{'time for a log':28} {rates[1] * 1e3:.1f} ms, {growth:.2f} times that of a tenth")
    return fits and growth <= 1.3


# --- a folder ---


def load_folder(asked: argparse.Namespace, place: Path) -> bool:
    """A folder with many logs; and a submission with as many code files in one folder."""
    good, logs = build("training", "5.1", "closed", "llama31_8b"), place / "logs"
    logs.mkdir()
    for number in range(asked.files):
        if number % 10_000 == 0:  # not all file systems allow more names for a file
            source = good.set("seed", number).write(place / f"source{number}")
        os.link(source, logs / f"result_{number}.txt")
    took = called(["check", "logs", "--round", "5.1", "--jobs", "2", "--quiet"], place)
    fits = print_row(f"{asked.files} logs in one folder", took, 1024)
    shutil.rmtree(logs)
    tree = usual(place / "tree")
    code = next((tree.root / "benchmarks").rglob("train.py")).parent / "more"
    code.mkdir()
    for number in range(asked.files):
        if number % 10_000 == 0:
            source = place / f"code{number}"
            source.write_text(f"import a{number}\n")
        os.link(source, code / f"m{number}.py")
    took = called(["check", str(tree.root), "--round", "5.1", "--quiet"], place)
    return print_row(f"{asked.files} files of code", took, 1024) and fits


# --- a log ---


def load_log(asked: argparse.Namespace, place: Path) -> bool:
    """A log with gigabytes of a framework's lines, and one with a tenth of that."""
    fits = True
    for gigabytes in (asked.gigabytes / 10, asked.gigabytes):
        path = place / "result_0.txt.zst"
        write_log(path, int(gigabytes * 1e9))
        took = called(["check", str(path), "--round", "5.1", "--quiet"], place)
        fits &= print_row(f"a log of {gigabytes:g} GB", took, 600) and took.status == 0
        path.unlink()
    return fits


def write_log(path: Path, size: int) -> None:
    """A good log, compressed, with other lines between its records."""
    noise = b"".join(
        b"[rank%d] iteration %d loss %.5f tokens/s %.1f\n" % (i % 64, i, 3 - i * 1e-5, 9e4 + i % 97)
        for i in range(20_000)
    )
    records = build("training", "5.1", "closed", "llama31_8b").bytes().splitlines(keepends=True)
    blocks = max(1, size // len(noise) // len(records))
    with path.open("wb") as out, zstandard.ZstdCompressor(1).stream_writer(out) as stream:
        for record in records:
            stream.write(record)
            for _ in range(blocks):
                stream.write(noise)


# --- logs that grow ---


def load_watch(asked: argparse.Namespace, place: Path) -> bool:
    """Many logs, each of which gets a line every ten seconds."""
    records = build("training", "5.1", "closed", "llama31_8b").bytes().splitlines(keepends=True)
    head = b"".join(records[:-3])
    paths = [place / f"{number // 100}/result_{number % 100}.txt" for number in range(asked.logs)]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(head)
    ended = threading.Event()

    def grow() -> None:
        while not ended.is_set():
            for number, path in enumerate(paths):
                with path.open("ab") as stream:
                    stream.write(b"iteration %d loss 1.5\n" % number)
                if ended.wait(10 / len(paths)):
                    return

    grower = threading.Thread(target=grow)
    grower.start()
    names = [str(path) for path in paths]
    words = ["watch", *names, "--round", "5.1", "--format", "json"]
    # The cost of the start differs from the cost per second
    start, whole = (
        called([*words, "--timeout", str(seconds)], place) for seconds in (10, 10 + asked.seconds)
    )
    ended.set()
    grower.join()
    share = (whole.cpu - start.cpu) / (whole.wall - start.wall)
    print_row(f"watch {asked.logs} logs", whole)
    print(f"{'of one core':28} {share:.1%} (bar 10%), {start.cpu:.1f} s CPU to begin")
    return share <= 0.1


ACTS = {"round": load_round, "folder": load_folder, "log": load_log, "watch": load_watch}


def main() -> int:
    """Generate the load and measure; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("act", choices=ACTS)
    parser.add_argument("--times", type=float, default=10)
    parser.add_argument("--corpus", type=Path, default=Path("../shared/corpus"))
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--gigabytes", type=float, default=20)
    parser.add_argument("--logs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--place", type=Path, help="a folder on a disk with enough space")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="podium-load.", dir=asked.place) as place:
        fits = ACTS[asked.act](asked, Path(place).resolve())
    print(f"load of the machine {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main())
