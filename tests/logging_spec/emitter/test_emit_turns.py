"""Writers of one file take turns: forked or not, in both APIs, killed or stopped within a line."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest import mock

import pytest

from podium.logging_spec import Logger
from podium.logging_spec.emitter import turns
from podium.logging_spec.mllog.handlers import AppendingHandler
from podium.logging_spec.mllog.mllog import MLLogger
from tests.locations import ROOT

PIECE = b':::MLLOG {"namespace": "", "key": "cut'

LOCKER = """
import fcntl, os, sys
handle = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
fcntl.lockf(handle, fcntl.LOCK_EX)
os.write(handle, sys.argv[2].encode())
print("held", flush=True)
sys.stdin.readline()
os.write(handle, b'"}\\n')
"""


def drop_in(path: Path) -> MLLogger:
    logger = logging.Logger("turns", logging.INFO)
    logger.addHandler(AppendingHandler(str(path)))
    return MLLogger(logger)


def emitter(path: Path) -> Logger:
    return Logger(path, rank=0)


APIS = pytest.mark.parametrize("api", [emitter, drop_in])


def values(path: Path) -> list[object]:
    lines = path.read_bytes().splitlines()
    return [json.loads(line[9:])["value"] for line in lines if line.strip() and line != PIECE]


@APIS
def test_a_record_never_continues_the_unfinished_line_of_another_writer(
    tmp_path: Path, api: type[Logger]
) -> None:
    path = tmp_path / "a.log"
    log = api(path)
    for number in range(3):
        log.event("own", number)
        with path.open("ab") as other:
            other.write(PIECE)
    log.event("own", 3)
    assert values(path) == [0, 1, 2, 3]
    assert path.read_bytes().count(PIECE + b"\n") == 3


@APIS
def test_no_newline_is_added_after_a_complete_line(tmp_path: Path, api: type[Logger]) -> None:
    path = tmp_path / "a.log"
    log = api(path)
    log.event("own", 0)
    with path.open("ab") as other:
        other.write(b"progress\n")
    log.event("own", 1)
    assert [line[:8] for line in path.read_bytes().splitlines()] == [
        *(b":::MLLOG", b"progress", b":::MLLOG")
    ]


@APIS
def test_a_writer_waits_until_another_process_has_finished_its_line(
    tmp_path: Path, api: type[Logger]
) -> None:
    path = tmp_path / "a.log"
    log = api(path)
    with subprocess.Popen(
        [sys.executable, "-c", LOCKER, str(path), PIECE.decode()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdin
        assert holder.stdout
        holder.stdout.readline()
        writing = threading.Thread(target=log.event, args=("own", 1))
        writing.start()
        time.sleep(0.1)
        assert path.read_bytes() == PIECE
        holder.stdin.write(b"\n")
        holder.stdin.flush()
        writing.join(60)
    first, second = path.read_bytes().splitlines()
    assert first == PIECE + b'"}'
    assert json.loads(second[9:])["value"] == 1


@APIS
def test_the_lock_of_a_killed_process_is_released(tmp_path: Path, api: type[Logger]) -> None:
    path = tmp_path / "a.log"
    log = api(path)
    with subprocess.Popen(
        [sys.executable, "-c", LOCKER, str(path), PIECE.decode()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout
        holder.stdout.readline()
        holder.send_signal(signal.SIGKILL)
    log.event("own", 1)
    assert path.read_bytes().startswith(PIECE + b"\n")
    assert values(path) == [1]


def test_a_writer_stops_waiting_for_a_stopped_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "PATIENCE_S", 0.2)
    path = tmp_path / "a.log"
    with subprocess.Popen(
        [sys.executable, "-c", LOCKER, str(path), "x\n"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout
        holder.stdout.readline()
        log = Logger(path, rank=0)
        began = time.monotonic()
        for number in range(100):
            log.event("own", number)
        took = time.monotonic() - began
        holder.kill()
    # The logger waits once, not for each line
    assert 0.2 <= took < 5
    assert values_after(path, b"x\n") == list(range(100))


def values_after(path: Path, start: bytes) -> list[object]:
    lines = path.read_bytes().removeprefix(start).splitlines()
    return [json.loads(line[9:])["value"] for line in lines if line.strip()]


@APIS
def test_lines_are_written_if_locks_are_not_available(tmp_path: Path, api: type[Logger]) -> None:
    path = tmp_path / "a.log"
    refused = OSError(37, "No locks available")
    with mock.patch("fcntl.lockf", side_effect=refused) as asked:
        log = api(path)
        for number in range(5):
            log.event("own", number)
    assert values(path) == list(range(5))
    assert asked.call_count == 1


def test_lines_of_several_loggers_in_one_process_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    logs = [emitter(path), drop_in(path), emitter(path)]

    def write(log: Logger | MLLogger) -> None:
        for number in range(200):
            log.event("own", "x" * (number * 50))

    threads = [threading.Thread(target=write, args=(log,)) for log in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(len(str(value)) for value in values(path)) == sorted(
        number * 50 for number in [*range(200)] * 3
    )


def test_a_signal_handler_can_log_during_a_write(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    log = emitter(path)
    real, seen = os.write, []

    def interrupted(fd: int, data: bytes) -> int:
        if not seen:
            seen.append(1)
            log.event("own", "handler")
        return real(fd, data)

    with mock.patch("os.write", interrupted):
        log.event("own", "line")
    log.event("own", "after")
    assert sorted(map(str, values(path))) == ["after", "handler", "line"]


PIPED = """
import logging, os, sys
from podium import Logger
log = Logger(1, rank=0, call_sites=False)
for _ in range(7):
    if os.fork() == 0:
        break
for number in range(20):
    log.event("own", chr(97 + number) * 150_000)
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
"""


def test_long_lines_of_processes_on_one_pipe_do_not_mix() -> None:
    done = subprocess.run([sys.executable, "-c", PIPED], capture_output=True, cwd=ROOT, check=True)
    lines = [json.loads(line[9:])["value"] for line in done.stdout.splitlines()]
    assert sorted(lines) == sorted(chr(97 + number) * 150_000 for number in [*range(20)] * 8)
