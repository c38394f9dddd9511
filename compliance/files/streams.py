"""The standard streams of the process: open even if closed by the caller, with clear errors."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

from podium.compliance.errors import UsageFault

_TITLES = {"stdout": "standard output", "stderr": "standard error"}

_CLOSED = {"stdin": os.O_WRONLY, "stdout": os.O_RDONLY, "stderr": os.O_RDWR}
"""Modes that make a file fail like a closed stream; messages are discarded."""


class OutputRefused(UsageFault):
    """Standard output or standard error cannot be written; the message is from the system."""


def open_streams() -> None:
    """Open the streams that the caller has closed, and escape text that they cannot encode."""
    for number, (name, flags) in enumerate(_CLOSED.items()):
        if getattr(sys, name) is None:
            # Otherwise the next opened file would get the number, and output would go to that file
            os.open(os.devnull, flags)
            # Stays open, as streams do
            opened = open(number, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, opened)
    sys.stdout = _plain_about_faults(sys.stdout, "stdout")
    sys.stderr = _plain_about_faults(sys.stderr, "stderr")


def drop_output() -> None:
    """Discard unwritten output, which would otherwise be written when the process ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, OutputRefused):
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Output(io.FileIO):
    """A file descriptor to write to, whose errors are distinguished from those of other files."""

    def __init__(self, number: int, name: str) -> None:
        super().__init__(number, "w", closefd=False)
        self.title = _TITLES[name]

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise OutputRefused(f"{self.title} cannot be written: {reason}") from None


def _plain_about_faults(stream: TextIO, name: str) -> TextIO:
    """The stream, reopened so that a write error has a clear message."""
    try:
        number = stream.fileno()
    # A Python caller has replaced the stream
    except (OSError, ValueError):
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(number, name)),
        stream.encoding,
        # Help and short lines are printed directly: a character must not end the call
        errors="backslashreplace",
        line_buffering=name == "stderr" or stream.isatty(),
        write_through=getattr(stream, "write_through", False),
    )
