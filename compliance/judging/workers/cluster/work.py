"""The function that a worker runs: it passes a batch to a helper, and returns the answer."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
from typing import IO

from podium.compliance.files.processes import how_it_ended
from podium.compliance.judging.workers.cluster import helper
from podium.compliance.judging.workers.cluster.batch import HelperLost, OtherVersion
from podium.compliance.version import VERSION

TRIES = 2
"""Number of attempts: an idle helper may end just when a batch is sent."""

_START = """import sys
sys.path[:] = sys.argv[1:]
from podium.compliance.judging.workers.cluster.helper import serve
serve()"""
"""Modules are imported from the same folders as in the worker."""

_idle: queue.LifoQueue[_Helper] = queue.LifoQueue()
"""In a worker: helpers that wait for a batch, one for each thread of the worker."""


def do_batch(version: str, data: bytes) -> bytes:
    """The answer to a batch, in a thread of a worker; depends only on the arguments and files.

    Raises OtherVersion if the sender has another version of podium, HelperLost if the helper is
    lost with all its children.
    """
    if version != VERSION:
        raise OtherVersion(VERSION)
    for remaining in reversed(range(TRIES)):
        process = _free()
        answer = process.ask(data)
        if answer is not None:
            _idle.put(process)
            return answer
        status = process.ended()
        if status or not remaining:
            break
    raise HelperLost(how_it_ended(status))


def _free() -> _Helper:
    try:
        return _idle.get_nowait()
    except queue.Empty:
        return _Helper()


class _Helper:
    """A process that answers batches, one after the other."""

    def __init__(self) -> None:
        # A separate session: Ctrl-C of a terminal is for the command, which ends its workers
        self.process = subprocess.Popen(  # noqa: S603 - the Python that runs this worker
            [sys.executable, "-P", "-c", _START, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env=os.environ,
        )

    def ask(self, data: bytes) -> bytes | None:
        """The answer to a batch; None if the process has ended."""
        try:
            helper.send(_number(self.process.stdin), data)
            return helper.receive(_number(self.process.stdout))
        except OSError:
            return None

    def ended(self) -> int:
        """The exit status of a process that has closed its pipes."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        return self.process.wait()


def _number(pipe: IO[bytes] | None) -> int:
    assert pipe is not None
    return pipe.fileno()
