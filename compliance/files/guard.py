"""Remove files that must not stay on disk, even if SIGKILL ends this process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_WATCH = """import os, shutil, sys
if sys.stdin.buffer.read() != b"left":
    path = sys.argv[1]
    shutil.rmtree(path, ignore_errors=True)
    if os.path.isfile(path): os.unlink(path)
"""


@contextmanager
def guarded(path: Path) -> Iterator[None]:
    """Remove a file or a folder if this process ends within the context.

    A second process in a separate session waits for that; only the end of its session or of the
    machine ends it. If it cannot be started, nothing is guarded.
    """
    watch = _started(path)
    try:
        yield
    finally:
        if watch is not None:
            with suppress(OSError):
                watch.communicate(b"left")


def _started(path: Path) -> subprocess.Popen[bytes] | None:
    # A separate session: Ctrl-C and `kill` of a job must not end it
    try:
        return subprocess.Popen(  # noqa: S603 - the Python that runs this process
            [sys.executable, "-I", "-S", "-c", _WATCH, os.fspath(path.absolute())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
