"""The process that a plug-in lives in: loads it, gives it jobs, and sends what it finds."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from msgspec.structs import replace

from podium.compliance.files.processes import end_with_parent
from podium.compliance.judging.plugins.installed import Plugin
from podium.compliance.judging.plugins.judging import told_error
from podium.compliance.judging.plugins.loading import Misbehaviour, Parts
from podium.compliance.judging.plugins.messages import Answered, Failed, Message, encoded

Work = Callable[[Parts, Any], Answered]
"""What is done with each job."""


def live(sender: Connection, plugin: Plugin, work: Work, jobs: Sequence[tuple[int, Any]]) -> None:
    """Load the plug-in, do the jobs and end this process, whatever the plug-in does.

    It prints nowhere: what it writes to standard output is kept, and is a fault.
    """
    status = 1
    try:
        end_with_parent()
        # What it starts is ended with it; not every system has such groups
        with suppress(OSError, AttributeError):
            os.setsid()
        printed = _apart()
        for message in _messages(plugin, work, jobs):
            _refuse_prints(printed)
            sender.send_bytes(encoded(message))
        status = 0
    # A plug-in's `sys.exit` is told like any exception
    except (Exception, SystemExit) as error:
        why = str(error) if isinstance(error, Misbehaviour) else f"fails: {told_error(error)}"
        with suppress(Exception):
            sender.send_bytes(encoded(Failed(why.encode(errors="replace").decode()[:500])))
    finally:
        # Threads of the plug-in, and what it asked for at the end of the process, are not awaited
        os._exit(status)


def _messages(plugin: Plugin, work: Work, jobs: Sequence[tuple[int, Any]]) -> Iterator[Message]:
    parts = Parts(plugin)
    yield parts.told()
    for number, job in jobs:
        answer = work(parts, job)
        yield replace(answer, job=number)


def _apart() -> int:
    """Part this process from the standard streams; the file that standard output is now."""
    nothing = os.open(os.devnull, os.O_RDWR)
    # Not closed: it lives as long as the process
    handle, path = tempfile.mkstemp(prefix="podium.", suffix=".plugin")
    os.unlink(path)
    for number, target in ((0, nothing), (1, handle), (2, nothing)):
        os.dup2(target, number)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", closefd=False)
    return handle


def _refuse_prints(printed: int) -> None:
    # A plug-in may have put anything in its place
    with suppress(Exception):
        sys.stdout.flush()
    if os.fstat(printed).st_size:
        text = os.pread(printed, 60, 0).decode("utf-8", "replace").strip()
        raise Misbehaviour(f"prints to standard output: {text!r}")
