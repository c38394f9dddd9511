"""Cost of `podium results`: a build and a plain loop of msgspec and pyarrow; queries; pages.

    python benchmarks/results.py [--corpus FOLDER] [--times 4] [--jobs 2] [--place FOLDER] [--full]

Rounds are copied, each copy with shifted clocks, and other output is inserted between their log
lines until the bytes per record match full published rounds. The numbers of logs, records and bytes
give the cost of 17 rounds: 24 955 logs, 11.8 million records, 5.45 GB. `--full` generates all of
them: the same number of copies, and lines of training statistics in each log up to the average
number of records of a published one.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

sys.path[:0] = [str(Path(__file__).resolve().parent)]
from load import ROOT, called, copy_round  # noqa: E402 - a script finds it now

LOGS, RECORDS, BYTES = 24_955, 11_800_000, 5_450_000_000
"""Logs, records and bytes of 17 published rounds in full."""
FULL_COPIES, FULL_STATISTICS = 15, 297
"""Copies of the corpus, and lines per log, that match them."""
FIRST = ("index.html", "style.css", "pages.js")
"""Files that the first page of a site loads."""
NOISE = b"[1,7]<stdout>: iteration 1200 | loss 2.31 | lr 4.0e-05 | grad norm 0.93 | 812.4 ms\n"
QUERIES = {
    "count": "SELECT count(*) FROM records",
    "keys": "SELECT key, count(*) AS n FROM records GROUP BY key ORDER BY n DESC LIMIT 20",
    "minutes": "SELECT file, min(time_ms) FILTER (key = 'run_start'), "
    "min(time_ms) FILTER (key = 'run_stop') FROM records GROUP BY file",
    "fastest": "SELECT * FROM fastest",
}


def logs_of(root: Path) -> Iterator[Path]:
    """The logs below a folder."""
    return (path for path in sorted(root.rglob("result_*.txt")) if path.is_file())


def with_statistics(data: bytes, lines: int) -> bytes:
    """A log with additional lines of training statistics, in the form of its first line.

    They precede `run_stop`, as in logs of late rounds.
    """
    first, stop = data.find(b":::MLLOG {"), data.find(b'"key": "run_stop"')
    stop = data.rfind(b"\n", 0, stop) + 1
    if first < 0 or stop <= first:
        return data
    clock = int(re.findall(rb'"time_ms": ?(\d{13})', data[:stop])[-1])
    made = [
        f':::MLLOG {{"namespace": "", "time_ms": {clock}, "event_type": "POINT_IN_TIME", '
        f'"key": "tracked_stats", "value": {{"throughput": {800 + 7 * at % 31}.{at % 97}}}, '
        f'"metadata": {{"file": "train.py", "lineno": 307, "step": {at}}}}}\n'.encode()
        for at in range(lines)
    ]
    return data[:stop] + b"".join(made) + data[stop:]


def pad(root: Path, statistics: int) -> tuple[int, int, int]:
    """Insert other output and statistics between log lines; returns logs, log lines and bytes."""
    logs = records = size = 0
    each = BYTES / RECORDS
    for path in logs_of(root):
        data = with_statistics(path.read_bytes(), statistics)
        lines = data.count(b":::ML")
        missing = int((lines * each - len(data)) / len(NOISE))
        if missing > 0:
            data = data.rstrip(b"\n") + b"\n" + NOISE * missing
        path.write_bytes(data)
        logs, records, size = logs + 1, records + lines, size + len(data)
    return logs, records, size


class _Line(msgspec.Struct):
    key: str
    time_ms: float
    value: msgspec.Raw
    metadata: msgspec.Raw


def plain_loop(root: Path, output: Path) -> float:
    """CPU seconds of a loop that checks nothing and supports only one dialect."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    decode = msgspec.json.Decoder(_Line).decode
    names = ("file", "line", "key", "time_ms", "value", "metadata")
    kinds = (pa.string(), pa.int64(), pa.string(), pa.float64(), pa.string(), pa.string())
    schema = pa.schema([*zip(names, kinds, strict=True)])
    with pq.ParquetWriter(output, schema, compression="zstd") as writer:
        rows: list[tuple[object, ...]] = []
        for path in logs_of(root):
            with path.open("rb") as stream:
                for number, line in enumerate(stream, 1):
                    at = line.find(b":::MLLOG ")
                    if at < 0:
                        continue
                    try:
                        record = decode(line[at + 9 :])
                    except (msgspec.DecodeError, UnicodeDecodeError):
                        continue
                    texts = bytes(record.value), bytes(record.metadata)
                    rows.append((str(path), number, record.key, record.time_ms, *texts))
            if len(rows) > 1 << 17:
                writer.write_table(pa.table([*zip(*rows, strict=True)], schema=schema))
                rows = []
        if rows:
            writer.write_table(pa.table([*zip(*rows, strict=True)], schema=schema))
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime - before


def main() -> None:
    """Generate the rounds, build, loop, query."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpus", type=Path, default=ROOT.parent / "shared" / "corpus")
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--place", type=Path)
    parser.add_argument("--full", action="store_true")
    given = parser.parse_args()
    times, statistics = (FULL_COPIES, FULL_STATISTICS) if given.full else (given.times, 0)
    with tempfile.TemporaryDirectory(dir=given.place) as name:
        place = Path(name)
        for source in sorted(given.corpus.glob("*_results_v*")):
            # Early rounds are deeper, so copies of a submission have no separate names
            nested = source.name.endswith("v0.5")
            copy_round(source, place / "rounds" / source.name, 1 if nested else times)
        measure(place, given.jobs, statistics)


def measure(place: Path, jobs: int, statistics: int) -> None:
    """Print the cost of the build, the loop and the queries."""
    logs, records, size = pad(place / "rounds", statistics)
    rounds = [str(path) for path in sorted((place / "rounds").iterdir())]
    print(f"{logs} logs, {records} log lines, {size / 1e6:.0f} MB, {os.cpu_count()} cores")
    words = ["results", "build", *rounds, "--output", "store", "--jobs", str(jobs), "--quiet"]
    took = called(words, place)
    stored = sum(path.stat().st_size for path in (place / "store").rglob("*") if path.is_file())
    print(f"build: exit {took.status} {took.wall:.1f} s, {took.cpu:.1f} s CPU")
    print(f"       {took.megabytes:.0f} MB memory, store {stored / 1e6:.1f} MB")
    for what, part, whole in (("logs", logs, LOGS), ("records", records, RECORDS)):
        times = whole / part
        print(
            f"       by {what} all rounds: {took.wall * times:.0f} s, {took.cpu * times:.0f} s "
            f"CPU, {stored * times / 1e6:.0f} MB"
        )
    again = called(words, place)
    print(f"again: {again.wall:.2f} s, {again.cpu:.2f} s CPU, every file hashed")
    cpu = plain_loop(place / "rounds", place / "plain.parquet")
    print(f"plain loop: {cpu:.1f} s CPU, {(place / 'plain.parquet').stat().st_size / 1e6:.1f} MB")
    query(place / "store")
    pages(place, LOGS / logs)


def pages(place: Path, times: float) -> None:
    """Print the cost of the site, also scaled by `times`, and its loading time in a browser."""
    took = called(["results", "site", "store", "--output", "site", "--quiet"], place)
    site = place / "site"
    files = [path for path in site.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    html = sum(path.suffix == ".html" for path in files)
    first = sum((site / name).stat().st_size for name in FIRST)
    largest = max(files, key=lambda path: path.stat().st_size)
    print(f"site: exit {took.status} {took.wall:.1f} s, {took.cpu:.1f} s CPU")
    print(f"      {took.megabytes:.0f} MB memory, {html} pages, {size / 1e6:.1f} MB")
    print(f"      by logs all rounds: {html * times:.0f} pages, {size * times / 1e6:.1f} MB")
    print(f"      first page {first / 1e3:.0f} kB with style and script")
    print(f"      largest: {largest.relative_to(site)} {largest.stat().st_size / 1e3:.0f} kB")
    for name in ("index.html", "search.html"):
        print(f"      {name} is shown after {shown(site, name)}")


def shown(site: Path, name: str) -> str:
    """The time of Chromium from requesting a page to the end of its scripts and pictures."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        return "an unknown time: chromium is not installed"
    script = site / "pages.js"
    kept = script.read_bytes()
    tell = "addEventListener('load', () => setTimeout(() => { document.title = "
    tell += (
        "`took ${Math.round(performance.getEntriesByType('navigation')[0].loadEventEnd)} ms`; }));"
    )
    took = []
    try:
        script.write_bytes(kept + tell.encode())
        for _ in range(5):
            with tempfile.TemporaryDirectory() as profile:
                flags = (
                    "--headless",
                    "--no-sandbox",
                    "--disable-gpu",
                    f"--user-data-dir={profile}",
                )
                command = [browser, *flags, "--dump-dom", (site / name).as_uri()]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
            took.append(int(re.findall(r"<title>took (\d+) ms", done.stdout)[0]))
    finally:
        script.write_bytes(kept)
    return f"{sorted(took)[2]} ms (the median of {len(took)}, of a newly started browser)"


def query(store: Path) -> None:
    """Print the seconds of each query, of the connection and of the whole command."""
    import podium

    begun = time.perf_counter()
    connection = podium.results.open(store)
    print(f"open: {time.perf_counter() - begun:.3f} s")
    for name, sql in QUERIES.items():
        begun = time.perf_counter()
        connection.execute(sql).fetchall()
        print(f"query {name}: {time.perf_counter() - begun:.3f} s")
    begun = time.perf_counter()
    words = ["results", "query", QUERIES["fastest"], "--store", str(store)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "podium", *words]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    print(f"the command: {time.perf_counter() - begun:.2f} s")


if __name__ == "__main__":
    main()
