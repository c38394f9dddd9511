"""Plug-ins run in processes of their own, which end when they take too long or misbehave.

`live` is the process of a plug-in: it loads the plug-in, does the jobs, and sends what it finds.
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
from podium.compliance.judging.plugins.judging import told_error
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


SECONDS = "PODIUM_PLUGIN_SECONDS"
"""The environment variable with the seconds that a plug-in has to load, and for each job."""

PATIENCE = 20.0
"""Those seconds by default."""

MEAN_SECONDS = 0.5
"""What a job may take on average, once the first PATIENCE is spent: drips end a plug-in, too."""

BYTES_PER_SECOND = 1 << 22
"""Logs are read anew in the plug-in's process: for so many bytes there is one second more."""


class Outcome(NamedTuple):
    """What became of a plug-in: all that it adds, its answers by job, or why it failed."""

    plugin: Plugin
    loaded: Loaded
    answers: dict[int, Answered]
    why: str = ""


class _Refused(Exception):
    """The plug-in takes no further part; the message says why."""


def patience() -> float:
    """The seconds that a plug-in has to load, and for one job; raises UsageFault."""
    text = os.environ.get(SECONDS, "")
    try:
        seconds = float(text) if text else PATIENCE
    except ValueError:
        seconds = 0.0
    # NaN is not above 0 either
    if not seconds > 0:
        raise UsageFault(f"{SECONDS} is {text}; must be a number of seconds above 0")
    return seconds


def run(
    plugin: Plugin,
    work: Work,
    jobs: Sequence[Any] = (),
    processes: int = 1,
    size: Callable[[Any], int] = lambda _: 0,
) -> Outcome:
    """Have a plug-in do some jobs, in so many processes; nothing that it does raises here.

    `size` tells the bytes that a job has to read. A plug-in that fails anywhere has failed, and
    what it answered before is left out: a report holds all that it finds, or nothing.
    """
    nothing = Outcome(plugin, Loaded(), {})
    if plugin.problem:
        return nothing._replace(why=plugin.problem)
    seconds = patience()
    numbered = [*enumerate(jobs)]
    shares = [numbered[first::processes] for first in range(max(1, min(processes, len(jobs))))]
    hosts = [_Host(plugin, work, share, size, seconds) for share in shares]
    loaded, answers = Loaded(), {}
    try:
        for host in hosts:
            host.start()
        while working := [host for host in hosts if not host.done]:
            until = min(host.deadline for host in working) - time.monotonic()
            ready = wait([host.receiver for host in working], max(0.0, until))
            for host in working:
                if host.receiver in ready:
                    message = host.take()
                    if isinstance(message, Loaded):
                        loaded = message
                    else:
                        answers[message.job] = message
                elif time.monotonic() > host.deadline:
                    raise _Refused(f"takes more than {host.allowed:.3g} seconds {host.doing()}")
    except _Refused as refused:
        return nothing._replace(why=str(refused))
    finally:
        for host in hosts:
            host.end()
    return Outcome(plugin, loaded, answers)


class _Host:
    """One process of a plug-in, and its share of the jobs."""

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
        # What it has sent: that it is loaded, and then an answer for each job
        self.taken = 0
        self.spare = 0.0

    def start(self) -> None:
        self.process.start()
        self.begun = True
        # Only the process holds it now, so that its end is the end of the pipe
        self.sender.close()
        self._allow(self.seconds)

    def _allow(self, seconds: float) -> None:
        self.allowed = seconds
        self.deadline = time.monotonic() + seconds

    @property
    def done(self) -> bool:
        """Whether all is answered."""
        return self.taken > len(self.share)

    def doing(self) -> str:
        """What it is at."""
        if not self.taken:
            return "to be imported"
        job = self.share[self.taken - 1][1]
        return f"for {getattr(job, 'display_path', '') or 'its answer'}"

    def take(self) -> Loaded | Answered:
        """The next message; raises _Refused where there is none that can be one."""
        try:
            message = decoded(self.receiver.recv_bytes(LARGEST))
        except EOFError:
            self.process.join(1.0)
            status = self.process.exitcode
            how = "answers no more" if status is None else how_it_ended(status)
            raise _Refused(f"its process {how} {self.doing()}") from None
        except (OSError, msgspec.MsgspecError, RecursionError):
            raise _Refused(f"sends what cannot be read {self.doing()}") from None
        if isinstance(message, Failed):
            raise _Refused(message.why)
        expected = Loaded if not self.taken else Answered
        if type(message) is not expected:
            raise _Refused(f"sends what cannot be read {self.doing()}")
        self.taken += 1
        if not self.done:
            left = self.seconds
            if self.taken > 1:
                # What a job has taken beyond its mean the next ones lack
                left = min(left, max(self.deadline - time.monotonic(), 0.0))
            fresh = MEAN_SECONDS + self.size(self.share[self.taken - 1][1]) / BYTES_PER_SECOND
            self._allow(left + fresh)
        return message

    def end(self) -> None:
        """End the process, whatever it does."""
        if self.begun:
            # All that it has started first: its group is its own, where it came that far
            with suppress(OSError, AttributeError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()
            self.process.join()
        else:
            self.sender.close()
        self.receiver.close()
