"""Lines are never lost or cut: killed writers, many writers, full disks and broken pipes."""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from podium.logging_spec import Logger, keys
from podium.logging_spec.emitter.sink import PAGE, LogNotWrittenError
from podium.logging_spec.emitter.testing import capture
from tests.locations import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator


WRITER = """
import os, sys
from podium import Logger
log = Logger(sys.argv[1], rank=0)
for number in range(int(sys.argv[2])):
    log.event("tracked_stats", {"number": number, "who": sys.argv[3], "pad": "x" * (number % 97)})
"""

ENDLESS = """
import os, sys
from podium import Logger
path, killer = sys.argv[1:]
while True:
    sys.stdin.readline()
    if os.fork() == 0:
        log = Logger(path, rank=0, call_sites=False)
        os.write(1, b"%d\\n" % os.getpid())
        number = 0
        while True:
            number += 1
            log.event("tracked_stats", {"number": number, "pad": "x" * (number % 197)})
    os.wait()
"""


def numbers(path: Path) -> list[Any]:
    """Return the values of a log, and assert that each of its lines is complete."""
    data = path.read_bytes()
    assert data.endswith(b"\n")
    lines = [line for line in data.splitlines() if line.strip()]
    assert all(line.startswith(b":::MLLOG {") for line in lines)
    return [json.loads(line[9:])["value"] for line in lines]


def kill_writers(path: Path, times: int) -> None:
    """Kill writers at random moments; all of them append to one file."""
    chance = random.Random(5)
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(path), "killer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    ) as parent:
        assert parent.stdin
        assert parent.stdout
        for _ in range(times):
            parent.stdin.write(b"\n")
            parent.stdin.flush()
            writer = int(parent.stdout.readline())
            time.sleep(chance.random() * 0.003)
            os.kill(writer, signal.SIGKILL)
        parent.kill()


def test_killed_writers_leave_complete_lines(tmp_path: Path) -> None:
    kill_writers(tmp_path / "a.txt", 100)
    assert numbers(tmp_path / "a.txt")


@pytest.mark.long
def test_a_thousand_killed_writers_leave_complete_lines(tmp_path: Path) -> None:
    kill_writers(tmp_path / "a.txt", 1000)
    assert numbers(tmp_path / "a.txt")


def test_many_processes_write_one_file(tmp_path: Path) -> None:
    path, each = tmp_path / "a.txt", 500
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, path, str(each), str(who)], cwd=ROOT)
        for who in range(16)
    ]
    assert [writer.wait() for writer in writers] == [0] * 16
    found = sorted((int(value["who"]), value["number"]) for value in numbers(path))
    assert found == [(who, number) for who in range(16) for number in range(each)]


def test_many_threads_write_one_file(tmp_path: Path) -> None:
    log = Logger(tmp_path / "a.txt", rank=0)

    def write() -> None:
        for number in range(300):
            log.event("own", number)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers(tmp_path / "a.txt")) == sorted([*range(300)] * 4)


def test_a_line_does_not_cross_a_page_boundary(tmp_path: Path) -> None:
    path, chance = tmp_path / "a.txt", random.Random(3)
    with Logger(path, rank=0, call_sites=False) as log:
        for _ in range(300):
            log.event("own", "x" * chance.choice([1, 50, 300, 490, 2000, PAGE - 200]))
    assert len(numbers(path)) == 300
    start = 0
    for line in path.read_bytes().splitlines(keepends=True):
        assert start // PAGE == (start + len(line) - 1) // PAGE
        start += len(line)


def test_a_line_longer_than_a_page_is_written(tmp_path: Path) -> None:
    with Logger(tmp_path / "a.txt", rank=0) as log:
        for size in (10, 3 * PAGE, 10):
            log.event("own", "x" * size)
    assert [len(value) for value in numbers(tmp_path / "a.txt")] == [10, 3 * PAGE, 10]


def test_a_record_starts_on_a_new_line_after_an_unfinished_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"progress 5%")
    Logger(path, rank=0).event("own", 1)
    first, second = path.read_bytes().splitlines()
    assert first == b"progress 5%"
    assert second.startswith(b":::MLLOG {")


def test_a_full_disk_raises_once_and_the_lines_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Logger("/dev/full", rank=0)
    with pytest.raises(LogNotWrittenError, match=r"/dev/full: 1 line is not written") as caught:
        log.event("own", 0)
    assert caught.value.errno == errno.ENOSPC
    for number in range(1, 4):
        log.event("own", number)
    with pytest.raises(LogNotWrittenError, match="4 lines are not written"):
        log.retry()
    read, write = os.pipe()
    monkeypatch.setattr(log._sink, "_fd", write)
    log.retry()
    log.event("own", 4)
    lines = os.read(read, 10_000).splitlines()
    assert [json.loads(line[9:])["value"] for line in lines] == [0, 1, 2, 3, 4]
    log.retry()


def test_closing_a_log_with_unwritten_lines_raises() -> None:
    with pytest.raises(LogNotWrittenError), Logger("/dev/full", rank=0) as log:
        log.event("own", 0)


@pytest.fixture
def limit() -> Iterator[Any]:
    """Set how large files may grow: a larger write is cut short, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_partially_written_line_is_completed(tmp_path: Path, limit: Any) -> None:
    path = tmp_path / "a.txt"
    log = Logger(path, rank=0)
    log.event("own", 0)
    limit(path.stat().st_size + 60)
    with pytest.raises(LogNotWrittenError):
        log.event("own", 1)
    log.event("own", 2)
    size = path.stat().st_size
    limit(resource.RLIM_INFINITY)
    assert size % 60 != 0
    log.event("own", 3)
    assert numbers(path) == [0, 1, 2, 3]


def test_a_partial_line_is_rewritten_if_another_process_wrote_after_it(
    tmp_path: Path, limit: Any
) -> None:
    path = tmp_path / "a.txt"
    log, other = Logger(path, rank=0), Logger(path, rank=0)
    log.event("own", 0)
    limit(path.stat().st_size + 60)
    with pytest.raises(LogNotWrittenError):
        log.event("own", 1)
    limit(resource.RLIM_INFINITY)
    other.event("own", "other")
    log.retry()
    log.event("own", 2)
    lines = path.read_bytes().splitlines()
    # The other line does not continue the fragment, which stays on a separate line
    assert len(lines.pop(1)) == 60
    assert [json.loads(line[9:])["value"] for line in lines] == [0, "other", 1, 2]


def test_a_broken_pipe_raises_once() -> None:
    read, write = os.pipe()
    log = Logger(write, rank=0)
    log.event("own", 0)
    os.close(read)
    with pytest.raises(LogNotWrittenError, match="1 line is not written"):
        log.event("own", 1)
    log.event("own", 2)
    with pytest.raises(LogNotWrittenError, match="2 lines are not written"):
        log.retry()
    os.close(write)


def test_the_logger_waits_for_a_slow_reader() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    log = Logger(write, rank=0, call_sites=False)
    read_back = bytearray()

    def drain() -> None:
        time.sleep(0.05)
        while piece := os.read(read, 65536):
            read_back.extend(piece)

    reader = threading.Thread(target=drain)
    reader.start()
    for number in range(2000):
        log.event("own", number)
    os.close(write)
    reader.join()
    os.close(read)
    assert read_back.count(b"\n") == 2000


def test_a_file_is_synced_to_disk_at_run_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    log = Logger(tmp_path / "a.txt", rank=0)
    log.end(keys.BLOCK_STOP)
    assert not synced
    log.end("run_stop", metadata={"status": "success"})
    assert len(synced) == 1


def test_run_stop_is_written_to_a_pipe() -> None:
    read, write = os.pipe()
    Logger(write, rank=0).end(keys.RUN_STOP)
    assert os.read(read, 1000).count(b"run_stop") == 1
    os.close(read)
    os.close(write)


def test_a_full_disk_does_not_hide_the_exception_that_ended_a_run() -> None:
    log, sink = capture()

    def fail(line: bytes) -> None:
        raise LogNotWrittenError("disk", 1, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    def run() -> None:
        with log.run():
            sink.write = fail  # type: ignore[method-assign]
            raise KeyError("boom")

    with pytest.raises(KeyError) as caught:
        run()
    assert "run_stop: " in caught.value.__notes__[0]


def test_a_forked_child_does_not_inherit_unwritten_lines() -> None:
    log = Logger("/dev/full", rank=0)
    with pytest.raises(LogNotWrittenError):
        log.event("own", 0)
    child = os.fork()
    if child == 0:
        os._exit(log._sink.kept)  # type: ignore[union-attr]
    assert os.waitpid(child, 0)[1] == 0
    assert log._sink.kept == 1  # type: ignore[union-attr]


def test_memory_use_stays_constant() -> None:
    log = Logger("/dev/null", rank=0)
    sizes = []
    for _ in range(3):
        for number in range(20_000):
            log.event("own", number, {"epoch_num": number})
        sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert sizes[2] - sizes[0] < 512  # kilobytes
