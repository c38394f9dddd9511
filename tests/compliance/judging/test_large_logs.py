"""Logs of hundreds of megabytes: memory depends on the records of a log, not on other lines."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from tests.builders import build
from tests.locations import ROOT

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="peaks are looked up in /proc"),
]

MB = 1 << 20
NOISE = b"step 12345: loss 2.3456, 1234 samples per second, 7.8 GB of memory\n"
RECORD = (
    b':::MLLOG {"namespace": "", "time_ms": 1750000005000, "event_type": "POINT_IN_TIME", '
    b'"key": "tracked_stats", "value": 1.5, "metadata": {"step": 8}}\n'
)

CHECK = """
import sys
from podium.compliance.cli.entry import run

status = run(["check", sys.argv[1], "--round", "5.1", "--quiet"])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(status, int(peak.split()[1]) // 1024)
"""
"""VmHWM is the peak of this process only; `ru_maxrss` would include that of the test process."""


def repeated(line: bytes) -> Callable[[IO[bytes], int], None]:
    block = line * (MB // len(line) + 1)

    def fill(stream: IO[bytes], size: int) -> None:
        for _ in range(size // MB):
            stream.write(block)

    return fill


def hole(stream: IO[bytes], size: int) -> None:
    """Write one line of zeros that takes no space on the disk."""
    stream.seek(size, os.SEEK_CUR)
    stream.write(b"\n")


def peak(path: Path, fill: Callable[[IO[bytes], int], None], size: int) -> int:
    """Peak megabytes of a check of a good log with `size` more megabytes before its last line."""
    build("training", "5.1", "closed", "llama31_405b").write(path.with_name("good"))
    *head, last = path.with_name("good").read_bytes().splitlines(keepends=True)
    with gzip.open(path, "wb", 1) if path.suffix == ".gz" else path.open("wb") as stream:
        stream.write(b"".join(head))
        fill(stream, size * MB)  # type: ignore[arg-type]
        stream.write(last)
    done = subprocess.run(
        [sys.executable, "-c", CHECK, str(path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
        timeout=600,
    )
    path.unlink()
    *said, figures = done.stdout.splitlines()
    assert "ACCEPTED" in said
    status, megabytes = map(int, figures.split())
    assert status == 0
    return megabytes


@pytest.mark.parametrize(
    ("name", "fill", "sizes", "most"),
    [
        ("result_0.txt", repeated(NOISE), (150, 300), 400),
        ("result_0.txt.gz", repeated(NOISE), (150, 300), 400),
        # A line is kept up to 256 MiB, because it may still turn out to be a record.
        ("result_0.txt", hole, (600, 1200), 900),
    ],
    ids=["noise", "compressed noise", "one line"],
)
def test_lines_without_records_need_bounded_memory(
    name: str,
    fill: Callable[[IO[bytes], int], None],
    sizes: tuple[int, int],
    most: int,
    tmp_path: Path,
) -> None:
    small, large = (peak(tmp_path / name, fill, size) for size in sizes)
    assert large <= most
    assert large <= 1.1 * small


def test_records_need_at_most_six_times_their_size(tmp_path: Path) -> None:
    """Records are kept until the log is judged, so their memory is predictable but not bounded."""
    assert peak(tmp_path / "result_0.txt", repeated(RECORD), 150) <= 6 * 150
