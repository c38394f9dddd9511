"""Commands called for others: in processes of their own, below one folder, with bounded answers."""

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
"""Characters of one answer: what reads it keeps it in memory whole."""

LONGEST_REASON = 2000
"""Characters of the reason why there is no answer."""

AT_ONCE = 4
"""Answers that are made at the same time; other requests wait for their turn."""

COLUMNS = 100


@dataclass(frozen=True)
class Answer:
    """What a command said: its exit status, what that means, and what it printed."""

    status: int
    meaning: str
    text: str


MEANINGS: dict[int, str] = {
    Exit.CLEAN: "no error",
    Exit.FOUND: "at least one error",
}
"""What an exit status says of what was asked; all others are faults."""


@dataclass(frozen=True)
class Caller:
    """Calls podium in `root`, for so many seconds at most.

    `module` is what a process runs: the command, kept in the folder and ended with the server.
    """

    root: Path
    module: str
    seconds: float
    plugins: bool = True
    turns: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(AT_ONCE))

    def path(self, given: str) -> str:
        """A path below the root as a command takes it; raises UsageFault for any other."""
        try:
            found = (self.root / given).resolve()
            # Said first: whether there is something elsewhere is nobody's business
            if not found.is_relative_to(self.root):
                raise UsageFault(f"{given!r:.200} is not below the folder that is served")
            if not found.exists():
                raise UsageFault(f"{given!r:.200} does not exist")
        except (OSError, ValueError, RuntimeError) as error:
            raise UsageFault(f"{given!r:.200} is not a path: {_reason(error)}") from None
        below = found.relative_to(self.root).as_posix()
        # With a dot before it, no name is taken for an option; `./-` still is standard input
        return str(found) if below == "-" else f"./{below}"

    def call(self, words: Sequence[str], operands: Sequence[str], *, whole: bool) -> Answer:
        """What podium answers; raises UsageFault where it does not, with its reason.

        words: the command and its options, operands: what stands behind them. whole: refuse an
        answer that is too long, instead of cutting it.
        """
        line = [sys.executable, "-P", "-m", self.module]
        line += [] if self.plugins else ["--no-plugins"]
        done = self._in_turn([*line, *words, "--", *operands])
        if done.returncode not in MEANINGS:
            raise UsageFault(self._refusal(done))
        text = _bounded(done.stdout, whole)
        return Answer(done.returncode, MEANINGS[done.returncode], text)

    def _in_turn(self, line: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        if not self.turns.acquire(timeout=self.seconds):
            raise UsageFault(f"{AT_ONCE} other answers are being made; ask again later")
        try:
            return _run(line, self.root, self.seconds)
        except subprocess.TimeoutExpired:
            raise UsageFault(
                f"no answer within {self.seconds:g} seconds; ask about a smaller folder"
            ) from None
        # An argument that is too long, or that holds a null character
        except (OSError, ValueError) as error:
            raise UsageFault(f"the request cannot be passed on: {_reason(error)}") from None
        finally:
            self.turns.release()

    def _refusal(self, done: subprocess.CompletedProcess[bytes]) -> str:
        """Why a command has no answer, with paths as seen from the root."""
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix("podium: ")
        said = said.replace(f"{self.root}{os.sep}", "")[:LONGEST_REASON]
        return said or f"podium ended with status {done.returncode}"


def _run(line: Sequence[str], root: Path, seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a session of its own; raises TimeoutExpired, OSError and ValueError."""
    # The child ends with this process: only this one holds the end that is written to
    read, write = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: S603 - podium itself, without a shell
            line,
            cwd=root,
            env={**os.environ, "COLUMNS": str(COLUMNS), "NO_COLOR": "1"},
            stdin=read,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        with process:
            try:
                output, errors = process.communicate(timeout=seconds)
            finally:
                # What it has started is in its group
                if process.returncode is None:
                    with suppress(OSError):
                        os.killpg(process.pid, signal.SIGKILL)
    finally:
        os.close(read)
        os.close(write)
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
            "ask about a smaller folder, or for text"
        )
    kept = text[:MOST].rpartition("\n")[0]
    return f"{kept}\n(cut here: the answer has {len(text):,} characters)\n"
