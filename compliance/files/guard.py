"""What must not stay on the disk is removed even where this process is killed by SIGKILL."""

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
    """Have a file or a folder removed where this process ends within the context.

    A second process waits for that, which only the end of its whole session or machine ends as
    well. Where it cannot be started there is none.
    """
    watch = _started(path)
    try:
        yield
    finally:
        if watch is not None:
            with suppress(OSError):
                watch.communicate(b"left")


def _started(path: Path) -> subprocess.Popen[bytes] | None:
    # A session of its own: Ctrl-C and `kill` of a job must not end it
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
