"""Git as a process: its output, time and memory have bounds."""

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
"""How long git may read from its own folder."""

WORKING_SECONDS = 3600.0
"""How long git may read or write the files of a clone, or talk to a remote."""

MEMORY_BYTES = 4 << 30
"""What one git process may allocate."""

OUTPUT_BYTES = 256 << 20
"""What one git process may print: the names of some million files."""

_ERROR_BYTES = 64 << 10
_BLOCK = 1 << 16
_GRACE_SECONDS = 2.0

# In these messages git has left out a password, but not a token in the place of the name
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
    """Run git in a folder with some text on its standard input; raises UsageFault at a bound."""
    try:
        from git import Git
        from git.exc import GitCommandNotFound
    # GitPython raises it when imported where there is no git
    except ImportError:
        raise UsageFault("there is no git program on this machine; install git") from None
    with tempfile.TemporaryFile() as stream:
        stream.write(text)
        stream.seek(0)
        try:
            started = Git(str(folder)).execute(
                ["git", *words],
                istream=stream,
                as_process=True,
                env=dict(variables),
                preexec_fn=_limit_memory,
            )
        except GitCommandNotFound:
            raise UsageFault("there is no git program on this machine; install git") from None
        except OSError as error:
            raise UsageFault(f"git {words[0]} cannot be started: {error.strerror}") from None
        assert started.proc is not None
        try:
            return _finished(started.proc, words[0], seconds)
        finally:
            _end(started.proc)


def _limit_memory() -> None:
    """Bound what this process may allocate, not what it maps: packs may be larger than memory."""
    import resource

    with suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        soft = MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_BYTES, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _end(process: Popen[bytes]) -> None:
    """End a process that has not ended: first so that git can remove its locks and end its own."""
    if process.poll() is None:
        process.terminate()
        with suppress(TimeoutExpired):
            process.wait(_GRACE_SECONDS)
        process.kill()


def _finished(process: Popen[bytes], word: str, seconds: float) -> Finished:
    end = time.monotonic() + seconds
    assert process.stdout is not None
    assert process.stderr is not None
    found = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as selector:
        for stream in found:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, end - time.monotonic()))
            if not ready:
                raise UsageFault(f"git {word} did not end within {seconds:.0f} seconds")
            for key, _ in ready:
                block = os.read(key.fd, _BLOCK)
                if not block:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    found[process.stdout] += block
                    if len(found[process.stdout]) > OUTPUT_BYTES:
                        raise UsageFault(f"git {word} printed over {OUTPUT_BYTES >> 20} MiB")
                elif len(found[process.stderr]) < _ERROR_BYTES:
                    found[process.stderr] += block
    status = process.wait()
    errors = found[process.stderr].decode("utf-8", "replace")
    return Finished(status, bytes(found[process.stdout]), errors)


def reason(text: str) -> str:
    """The lines of git's errors that name the fault, on one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    found = [line for line in lines if re.search(r"error|fatal|rejected|denied", line)] or lines
    return clean(_CREDENTIALS.sub("://", "; ".join(found[:3]))) or "it gave no reason"
