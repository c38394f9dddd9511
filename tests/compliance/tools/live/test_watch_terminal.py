"""`podium watch` in a real terminal, on a log that is written 1000 times faster than it ran."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import msgspec

from podium.compliance import check
from tests.builders import Line, LogBuilder, build

COMMAND = (
    "import typer; from podium.compliance.cli.judging.watch import watch; "
    "app = typer.Typer(pretty_exceptions_enable=False); app.command()(watch); app()"
)

WIDTH = 80

SPEED = 1000

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_RULE = re.compile(r"\[((?:[a-z]+\.)[a-z0-9_.-]+)\]")


def slow(log: LogBuilder, seconds: float) -> list[Line]:
    """Return the lines with `seconds` seconds between them."""
    began = log.lines[0].record
    assert began is not None
    return [
        Line(
            msgspec.structs.replace(line.record, time_ms=int(began.time_ms + 1000 * seconds * n)),
            "mllog",
        )
        for n, line in enumerate(log.lines)
        if line.record is not None
    ]


def replay(lines: list[Line], path: Path) -> None:
    """Write the lines `SPEED` times faster than they were logged, and some in two halves."""
    previous = None
    with path.open("wb", buffering=0) as stream:
        for number, line in enumerate(lines):
            assert line.record is not None
            if previous is not None:
                time.sleep((line.record.time_ms - previous) / 1000 / SPEED)
            previous = line.record.time_ms
            data = line.bytes + b"\n"
            cut = len(data) // 2 if number % 5 == 0 else len(data)
            for part in (data[:cut], data[cut:]):
                stream.write(part)


def in_terminal(path: Path, *options: str) -> tuple[int, str]:
    """Return the exit status and everything that was sent to the terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, WIDTH, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(path), "--interval", "0.05", *options],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=env,
        start_new_session=True,
    )
    os.close(slave)
    said, ends = b"", time.monotonic() + 60
    while time.monotonic() < ends:
        if not select.select([master], [], [], 0.2)[0]:
            continue
        try:
            data = os.read(master, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        said += data
    os.close(master)
    return process.wait(60), said.decode()


def test_a_replay_ends_with_the_findings_of_check(tmp_path: Path) -> None:
    log = build("training", "6.1", "closed", "llama31_8b").set("opt_adamw_beta_2", 0.9)
    log = log.set("opt_end_learning_rate", 0.5).drop("max_steps")
    log = log.meta("eval_accuracy", samples_count=20_000, only=1)
    path = tmp_path / "result_0.txt"
    writer = threading.Thread(target=replay, args=(slow(log, 40), path))
    writer.start()
    status, said = in_terminal(path, "--round", "6.1")
    writer.join()
    report = check(path, round="6.1")
    assert status == 1
    last = said[said.rindex("\x1b[?25h") :]  # the cursor is shown again before the report
    assert sorted(_RULE.findall(_CONTROL.sub("", last))) == sorted(f.id for f in report.findings)
    assert "REJECTED" in last
    drawn = said[: said.rindex("\x1b[?25h")]
    assert "running" in drawn
    assert "closed.llama31_8b.opt_adamw_beta_2" in drawn
    lines = _CONTROL.sub("", said).replace("\r", "\n").split("\n")
    assert max(map(len, lines)) <= WIDTH


def test_a_good_run_ends_with_status_0(tmp_path: Path) -> None:
    log = build("training", "6.1", "closed", "llama31_8b")
    path = tmp_path / "result_0.txt"
    writer = threading.Thread(target=replay, args=(slow(log, 20), path))
    writer.start()
    status, said = in_terminal(path, "--round", "6.1", "--no-color")
    writer.join()
    assert status == 0
    assert said.rstrip().endswith("ACCEPTED")
