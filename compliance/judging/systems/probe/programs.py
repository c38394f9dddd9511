"""Other programs asked for facts: in a given time, with bounded output, and never trusted."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

PATIENCE = 20.0
"""Seconds that a program may take; a driver in trouble takes for ever."""

MOST_OUTPUT = 1 << 20
"""Bytes of a program's answer that are read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program said; `fault` says why it said nothing, and is empty where it is not there."""

    text: str | None = None
    fault: str = ""


def ask(command: Sequence[str], patience: float | None = None) -> Answer:
    """Run a program and read what it prints; it and all that it started end when time is up."""
    place, patience = shutil.which(command[0]), patience or PATIENCE
    if place is None:
        return Answer()
    # A file, not a pipe: a pipe stays open as long as any grandchild lives.
    with tempfile.TemporaryFile() as out:
        try:
            # No shell, and only commands that podium itself names.
            child = subprocess.Popen(  # noqa: S603
                [place, *command[1:]],
                # A program that asks a question must not wait for an answer
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.DEVNULL,
                # Answers are matched as printed in English, with a point in numbers
                env=os.environ | {"LC_ALL": "C"},
                # A group of its own, so that killpg reaches whatever the program has started
                start_new_session=True,
            )
        except OSError as error:
            return Answer(fault=f"{command[0]} cannot be run: {error.strerror}")
        try:
            status = child.wait(patience)
        except subprocess.TimeoutExpired:
            _end(child)
            return Answer(fault=f"{command[0]} gave no answer in {patience:g} s")
        out.seek(0)
        text = out.read(MOST_OUTPUT).decode("utf-8", "replace")
    if status:
        return Answer(fault=f"{command[0]} ended with status {status}")
    return Answer(text)


def _end(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    child.kill()
    # Killed or not, a child that nobody waits for stays a zombie
    child.wait()
