"""Commands run for clients: in separate processes, below one folder, with bounded answers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import BoundedSemaphore

from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit

MOST = 1 << 20
"""Maximum characters of one answer, which clients keep in memory."""

LONGEST_REASON = 2000
"""Maximum characters of the reason for a missing answer."""

AT_ONCE = 4
"""Maximum answers that are made at the same time; other requests wait."""

COLUMNS = 100


@dataclass(frozen=True)
class Answer:
    """The result of a command: its exit status, the meaning of that, and the output."""

    status: int
    meaning: str
    text: str


MEANINGS: dict[int, str] = {
    Exit.CLEAN: "no error",
    Exit.FOUND: "at least one error",
}
"""The meanings of exit statuses; all other statuses are faults."""


@dataclass(frozen=True)
class Caller:
    """Calls podium in `root`, each call for at most `seconds`.

    `module` is the module that a process runs: it stays in the folder and ends with the server.
    """

    root: Path
    module: str
    seconds: float
    plugins: bool = True
    turns: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(AT_ONCE))

    def path(self, argument: str) -> str:
        """A path below the root as an argument; raises UsageFault for any other path."""
        try:
            path = (self.root / argument).resolve()
            # Checked first: the answer must not reveal whether a path outside exists
            if not path.is_relative_to(self.root):
                raise UsageFault(f"{argument!r:.200} is not below the served folder")
            if not path.exists():
                raise UsageFault(f"{argument!r:.200} does not exist")
        except (OSError, ValueError, RuntimeError) as error:
            raise UsageFault(f"{argument!r:.200} is not a path: {_reason(error)}") from None
        relative_path = path.relative_to(self.root).as_posix()
        # After a dot, no name is parsed as an option; `./-` is still standard input
        return str(path) if relative_path == "-" else f"./{relative_path}"

    def call(self, words: Sequence[str], operands: Sequence[str], *, whole: bool) -> Answer:
        """Podium's answer; raises UsageFault with the reason if there is none.

        words: the command and its options. operands: the arguments after them. whole: refuse an
        answer that is too long instead of cutting it.
        """
        line = [sys.executable, "-P", "-m", self.module]
        line += [] if self.plugins else ["--no-plugins"]
        process = self._in_turn([*line, *words, "--", *operands])
        if process.returncode not in MEANINGS:
            raise UsageFault(self._refusal(process))
        text = _bounded(process.stdout, whole)
        return Answer(process.returncode, MEANINGS[process.returncode], text)

    def _in_turn(self, line: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        if not self.turns.acquire(timeout=self.seconds):
            raise UsageFault(f"busy with {AT_ONCE} other requests; try again later")
        try:
            return _run(line, self.root, self.seconds)
        except subprocess.TimeoutExpired:
            raise UsageFault(
                f"no answer within {self.seconds:g} seconds; try a smaller folder"
            ) from None
        # An argument that is too long or contains a null character
        except (OSError, ValueError) as error:
            raise UsageFault(f"the request cannot be run: {_reason(error)}") from None
        finally:
            self.turns.release()

    def _refusal(self, process: subprocess.CompletedProcess[bytes]) -> str:
        """The reason why a command has no answer, with paths relative to the root."""
        reason = process.stderr.decode("utf-8", "replace").strip().removeprefix("podium: ")
        reason = reason.replace(f"{self.root}{os.sep}", "")[:LONGEST_REASON]
        return reason or f"podium ended with status {process.returncode}"


def _run(line: Sequence[str], root: Path, seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a separate session; raises TimeoutExpired, OSError and ValueError."""
    # The child ends with this process: only this process has the write end of the pipe
    read_end, write_end = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: S603 - podium itself, without a shell
            line,
            cwd=root,
            env={**os.environ, "COLUMNS": str(COLUMNS), "NO_COLOR": "1"},
            stdin=read_end,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        with process:
            try:
                output, errors = process.communicate(timeout=seconds)
            finally:
                # Its children are in its process group
                if process.returncode is None:
                    with suppress(OSError):
                        os.killpg(process.pid, signal.SIGKILL)
    finally:
        os.close(read_end)
        os.close(write_end)
    return subprocess.CompletedProcess(line, process.returncode, output, errors)


def _reason(error: Exception) -> str:
    strerror = error.strerror if isinstance(error, OSError) else None
    return (strerror or str(error)).lower()


def _bounded(data: bytes, whole: bool) -> str:
    text = data.decode("utf-8", "replace")
    if len(text) <= MOST:
        return text
    if whole:
        raise UsageFault(
            f"the answer has {len(text):,} characters, more than {MOST:,}; "
            "try a smaller folder, or the text format"
        )
    excerpt = text[:MOST].rpartition("\n")[0]
    return f"{excerpt}\n(cut here: the answer has {len(text):,} characters)\n"
