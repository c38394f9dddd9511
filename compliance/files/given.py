"""Files that the user or a store names, of any kind, read within bounds."""

from __future__ import annotations

import errno
import os
import select
import stat
import time
from pathlib import Path

PATIENCE_SECONDS = 30.0
"""Time limit for reading a pipe or a device: a shell's `<(command)` is a pipe."""

_PIECE = 1 << 20


def read_given(path: str | Path, limit: int) -> bytes:
    """The first `limit` bytes of a file, a pipe or a device.

    Raises OSError if it cannot be read, or if a pipe without a writer or a silent device does not
    end in time.
    """
    # Without O_NONBLOCK opening a pipe would wait for a writer
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags)
    try:
        waits = not stat.S_ISREG(os.fstat(handle).st_mode)
        end = time.monotonic() + PATIENCE_SECONDS
        data = bytearray()
        while len(data) < limit:
            if waits:
                _await(handle, end)
            try:
                piece = os.read(handle, min(limit - len(data), _PIECE))
            except BlockingIOError:
                continue
            if not piece:
                break
            data += piece
        return bytes(data)
    finally:
        os.close(handle)


def _await(handle: int, end: float) -> None:
    """Wait for data or for the end of the file; raises OSError on a timeout."""
    if not hasattr(select, "poll"):
        return
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    if not poll.poll(max(0.0, end - time.monotonic()) * 1000):
        raise OSError(errno.ETIMEDOUT, f"it did not end within {PATIENCE_SECONDS:.0f} s")
