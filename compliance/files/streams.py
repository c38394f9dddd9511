"""The standard streams of the process: there even if closed, and plain about what they refuse."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

from podium.compliance.errors import UsageFault

_TITLES = {"stdout": "standard output", "stderr": "standard error"}

_CLOSED = {"stdin": os.O_WRONLY, "stdout": os.O_RDONLY, "stderr": os.O_RDWR}
"""How a file is opened that fails just as a closed stream does; but messages are let fall away."""


class OutputRefused(UsageFault):
    """Standard output or standard error takes no more; the message is the operating system's."""


def open_streams() -> None:
    """Give the process the streams that its caller has closed, and texts that each can show."""
    for number, (name, flags) in enumerate(_CLOSED.items()):
        if getattr(sys, name) is None:
            # The next file opened would get the number, and output would end in that file
            os.open(os.devnull, flags)
            # Left open, as streams are
            opened = open(number, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, opened)
    sys.stdout = _plain_about_faults(sys.stdout, "stdout")
    sys.stderr = _plain_about_faults(sys.stderr, "stderr")


def drop_output() -> None:
    """Let what was not written fall away: it would be tried again when the process ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, OutputRefused):
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Output(io.FileIO):
    """A file descriptor to write to, whose faults are told apart from those of other files."""

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
    """The stream anew, so that a fault in writing to it says so."""
    try:
        number = stream.fileno()
    # A caller in Python has put something else in its place
    except (OSError, ValueError):
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(number, name)),
        stream.encoding,
        # Help and short lines are printed as they are: a character must not end the call
        errors="backslashreplace",
        line_buffering=name == "stderr" or stream.isatty(),
        write_through=getattr(stream, "write_through", False),
    )
