"""Git as a process with bounds on output, time and memory."""

from __future__ import annotations

import os
import re
import selectors
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING

from podium.compliance.errors import UsageFault
from podium.compliance.text.terminal import clean

if TYPE_CHECKING:
    from subprocess import Popen

READING_SECONDS = 300.0
"""Time limit for git to read from its folder."""

WORKING_SECONDS = 3600.0
"""Time limit for git to read or write files of a clone, or to access a remote."""

MEMORY_BYTES = 4 << 30
"""Maximum memory of one git process."""

OUTPUT_BYTES = 256 << 20
"""Maximum output of one git process: the names of some million files."""

_ERROR_BYTES = 64 << 10
_BLOCK = 1 << 16
_GRACE_SECONDS = 2.0
_NOT_FOUND = 127
"""Exit status of a shell that does not find a command."""

# In these messages git omits a password, but not a token in place of the user name
_CREDENTIALS = re.compile(r"://[^/\s@]+@")


@dataclass(frozen=True, slots=True)
class Finished:
    """A git process that has ended."""

    status: int
    output: bytes
    errors: str


def run_git(
    words: Sequence[str],
    *,
    folder: Path,
    variables: Mapping[str, str],
    seconds: float,
    text: bytes = b"",
) -> Finished:
    """Run git in a folder with text on its standard input; raises UsageFault at a bound."""
    try:
        from git import Git
        from git.exc import GitCommandNotFound
    # GitPython raises it on import if git is not installed
    except ImportError:
        raise UsageFault("git is not installed; install git") from None
    with tempfile.TemporaryFile() as stream:
        stream.write(text)
        stream.seek(0)
        try:
            started = Git(str(folder)).execute(
                [*_limited_shell(), "git", *words],
                istream=stream,
                as_process=True,
                env=dict(variables),
            )
        except GitCommandNotFound:
            raise UsageFault(f"git {words[0]} cannot be started: /bin/sh does not exist") from None
        except OSError as error:
            raise UsageFault(f"git {words[0]} cannot be started: {error.strerror}") from None
        assert started.proc is not None
        try:
            finished = _finished(started.proc, words[0], seconds)
        finally:
            _end(started.proc)
    if finished.status == _NOT_FOUND:
        raise UsageFault("git is not installed; install git")
    return finished


def _limited_shell() -> list[str]:
    """A command that limits the memory that git allocates, not maps: packs may be larger.

    A shell sets the limit, because a function between fork and exec would copy this process's page
    tables for each call of git.
    """
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_BYTES, hard)
    return ["/bin/sh", "-c", f'ulimit -S -d {limit >> 10} 2>/dev/null; exec "$@"', "sh"]


def _end(process: Popen[bytes]) -> None:
    """End a process: first let git remove its locks and end its children."""
    if process.poll() is None:
        process.terminate()
        with suppress(TimeoutExpired):
            process.wait(_GRACE_SECONDS)
        process.kill()


def _finished(process: Popen[bytes], word: str, seconds: float) -> Finished:
    end = time.monotonic() + seconds
    assert process.stdout is not None
    assert process.stderr is not None
    buffers = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as selector:
        for stream in buffers:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            events = selector.select(max(0.0, end - time.monotonic()))
            if not events:
                raise UsageFault(f"git {word} did not end within {seconds:.0f} seconds")
            for key, _ in events:
                block = os.read(key.fd, _BLOCK)
                if not block:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    buffers[process.stdout] += block
                    if len(buffers[process.stdout]) > OUTPUT_BYTES:
                        raise UsageFault(f"git {word} printed over {OUTPUT_BYTES >> 20} MiB")
                elif len(buffers[process.stderr]) < _ERROR_BYTES:
                    buffers[process.stderr] += block
    status = process.wait()
    errors = buffers[process.stderr].decode("utf-8", "replace")
    return Finished(status, bytes(buffers[process.stdout]), errors)


def reason(text: str) -> str:
    """The lines of git's errors that describe the fault, on one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    faults = [line for line in lines if re.search(r"error|fatal|rejected|denied", line)] or lines
    return clean(_CREDENTIALS.sub("://", "; ".join(faults[:3]))) or "it gave no reason"
