"""Plug-ins run in separate processes, which end if they take too long or misbehave.

`live` is the process of a plug-in: it imports the plug-in, does the jobs, and sends the answers.
`run` starts such processes and reads their answers.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from podium.compliance.errors import UsageFault
from podium.compliance.files.processes import end_with_parent, how_it_ended, process_context
from podium.compliance.judging.plugins.installed import Plugin
from podium.compliance.judging.plugins.judging import error_text
from podium.compliance.judging.plugins.loading import Misbehaviour, Parts
from podium.compliance.judging.plugins.messages import (
    LARGEST,
    Answered,
    Failed,
    Loaded,
    Message,
    decoded,
    encoded,
)

Work = Callable[[Parts, Any], Answered]
"""The work for each job."""


def live(sender: Connection, plugin: Plugin, work: Work, jobs: Sequence[tuple[int, Any]]) -> None:
    """Import the plug-in, do the jobs and end this process, whatever the plug-in does.

    A plug-in must not print: its standard output is captured, and output is an error.
    """
    status = 1
    try:
        end_with_parent()
        # Its child processes are ended with it; not every system has process groups
        with suppress(OSError, AttributeError):
            os.setsid()
        printed = _apart()
        for message in _messages(plugin, work, jobs):
            _refuse_prints(printed)
            sender.send_bytes(encoded(message))
        status = 0
    # A plug-in's `sys.exit` is reported like any exception
    except (Exception, SystemExit) as error:
        reason = str(error) if isinstance(error, Misbehaviour) else f"fails: {error_text(error)}"
        with suppress(Exception):
            sender.send_bytes(encoded(Failed(reason.encode(errors="replace").decode()[:500])))
    finally:
        # The plug-in's threads and exit handlers are not awaited
        os._exit(status)


def _messages(plugin: Plugin, work: Work, jobs: Sequence[tuple[int, Any]]) -> Iterator[Message]:
    parts = Parts(plugin)
    yield parts.loaded()
    for number, job in jobs:
        answer = work(parts, job)
        yield replace(answer, job=number)


def _apart() -> int:
    """Detach this process from the standard streams. Return the file of its standard output."""
    devnull = os.open(os.devnull, os.O_RDWR)
    # Not closed: it is needed until the process ends
    handle, path = tempfile.mkstemp(prefix="podium.", suffix=".plugin")
    os.unlink(path)
    for number, target in ((0, devnull), (1, handle), (2, devnull)):
        os.dup2(target, number)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", closefd=False)
    return handle


def _refuse_prints(printed: int) -> None:
    # A plug-in may have replaced sys.stdout with anything
    with suppress(Exception):
        sys.stdout.flush()
    if os.fstat(printed).st_size:
        text = os.pread(printed, 60, 0).decode("utf-8", "replace").strip()
        raise Misbehaviour(f"prints to standard output: {text!r}")


SECONDS = "PODIUM_PLUGIN_SECONDS"
"""The environment variable with the time limit for the import of a plug-in, and for each job."""

PATIENCE = 20.0
"""The default time limit in seconds."""

MEAN_SECONDS = 0.5
"""Mean seconds that a job may take after the first PATIENCE, so that many slow jobs also end."""

BYTES_PER_SECOND = 1 << 22
"""Logs are read again in the plug-in's process: each job gets one more second for these bytes."""


class Outcome(NamedTuple):
    """The outcome of a plug-in: its extensions, its answers by job, or the reason of a failure."""

    plugin: Plugin
    loaded: Loaded
    answers: dict[int, Answered]
    why: str = ""


class _Refused(Exception):
    """The plug-in is not used any further; the message is the reason."""


def patience() -> float:
    """The time limit in seconds for the import and for one job; raises UsageFault."""
    text = os.environ.get(SECONDS, "")
    try:
        seconds = float(text) if text else PATIENCE
    except ValueError:
        seconds = 0.0
    # NaN is not above 0
    if not seconds > 0:
        raise UsageFault(f"{SECONDS} is {text}; expected a number of seconds above 0")
    return seconds


def run(
    plugin: Plugin,
    work: Work,
    jobs: Sequence[Any] = (),
    processes: int = 1,
    size: Callable[[Any], int] = lambda _: 0,
) -> Outcome:
    """Have a plug-in do some jobs in several processes; never raises because of the plug-in.

    `size` returns the bytes that a job reads. If a plug-in fails in one job, all its answers are
    discarded: a report has all of its findings, or none.
    """
    no_outcome = Outcome(plugin, Loaded(), {})
    if plugin.problem:
        return no_outcome._replace(why=plugin.problem)
    seconds = patience()
    numbered = [*enumerate(jobs)]
    shares = [numbered[first::processes] for first in range(max(1, min(processes, len(jobs))))]
    hosts = [_Host(plugin, work, share, size, seconds) for share in shares]
    loaded, answers = Loaded(), {}
    try:
        for host in hosts:
            host.start()
        while busy_hosts := [host for host in hosts if not host.done]:
            seconds_left = min(host.deadline for host in busy_hosts) - time.monotonic()
            receivers = wait([host.receiver for host in busy_hosts], max(0.0, seconds_left))
            for host in busy_hosts:
                if host.receiver in receivers:
                    message = host.take()
                    if isinstance(message, Loaded):
                        loaded = message
                    else:
                        answers[message.job] = message
                elif time.monotonic() > host.deadline:
                    raise _Refused(f"takes more than {host.allowed:.3g} seconds {host.doing()}")
    except _Refused as refused:
        return no_outcome._replace(why=str(refused))
    finally:
        for host in hosts:
            host.end()
    return Outcome(plugin, loaded, answers)


class _Host:
    """One process of a plug-in, with its share of the jobs."""

    def __init__(
        self,
        plugin: Plugin,
        work: Work,
        share: list[tuple[int, Any]],
        size: Callable[[Any], int],
        seconds: float,
    ) -> None:
        context: Any = process_context()
        self.share, self.size, self.seconds = share, size, seconds
        self.receiver: Connection
        self.receiver, self.sender = context.Pipe(duplex=False)
        self.process = context.Process(
            target=live, args=(self.sender, plugin, work, share), daemon=True
        )
        self.begun = False
        # The number of messages received: one after the import, then one for each job
        self.taken = 0
        self.spare = 0.0

    def start(self) -> None:
        self.process.start()
        self.begun = True
        # Only the process has the sender now, so that its end closes the pipe
        self.sender.close()
        self._allow(self.seconds)

    def _allow(self, seconds: float) -> None:
        self.allowed = seconds
        self.deadline = time.monotonic() + seconds

    @property
    def done(self) -> bool:
        """Whether all jobs are answered."""
        return self.taken > len(self.share)

    def doing(self) -> str:
        """The current work, for messages."""
        if not self.taken:
            return "during its import"
        job = self.share[self.taken - 1][1]
        return f"for {getattr(job, 'display_path', '') or 'its answer'}"

    def take(self) -> Loaded | Answered:
        """The next message; raises _Refused without a valid message."""
        try:
            message = decoded(self.receiver.recv_bytes(LARGEST))
        except EOFError:
            self.process.join(1.0)
            status = self.process.exitcode
            ending = "does not answer" if status is None else how_it_ended(status)
            raise _Refused(f"its process {ending} {self.doing()}") from None
        except (OSError, msgspec.MsgspecError, RecursionError):
            raise _Refused(f"sends an invalid message {self.doing()}") from None
        if isinstance(message, Failed):
            raise _Refused(message.why)
        expected = Loaded if not self.taken else Answered
        if type(message) is not expected:
            raise _Refused(f"sends an invalid message {self.doing()}")
        self.taken += 1
        if not self.done:
            seconds = self.seconds
            if self.taken > 1:
                # A job's time above the mean is subtracted from the time of the next jobs
                seconds = min(seconds, max(self.deadline - time.monotonic(), 0.0))
            fresh = MEAN_SECONDS + self.size(self.share[self.taken - 1][1]) / BYTES_PER_SECOND
            self._allow(seconds + fresh)
        return message

    def end(self) -> None:
        """End the process, whatever it does."""
        if self.begun:
            # First its child processes: it has its own group, if it got that far
            with suppress(OSError, AttributeError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()
            self.process.join()
        else:
            self.sender.close()
        self.receiver.close()
