"""Commands called for others: in processes of their own, below one folder, with bounded answers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit

MOST = 1 << 20
"""Characters of one answer: what reads it keeps it in memory whole."""

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
    """Calls podium in `root`, for so many seconds at most."""

    root: Path
    seconds: float
    plugins: bool = True

    def path(self, given: str) -> str:
        """A path below the root as a command takes it; raises UsageFault for any other."""
        try:
            found = (self.root / given).resolve()
        except (OSError, ValueError, RuntimeError):
            raise UsageFault(f"{given!r:.200} is no path") from None
        # Said first: whether there is something elsewhere is nobody's business
        if not found.is_relative_to(self.root):
            raise UsageFault(f"{given!r:.200} is not below the folder that is served")
        if not found.exists():
            raise UsageFault(f"{given!r:.200} does not exist")
        # With a dot before it, no name is taken for an option, or for standard input
        return f"./{found.relative_to(self.root).as_posix()}"

    def call(self, words: Sequence[str], operands: Sequence[str], *, whole: bool) -> Answer:
        """What podium answers; raises UsageFault where it does not, with its reason.

        words: the command and its options, operands: what stands behind them. whole: refuse an
        answer that is too long, instead of cutting it.
        """
        line = [sys.executable, "-P", "-m", "podium"]
        line += [] if self.plugins else ["--no-plugins"]
        line += [*words, "--", *operands]
        environment = {**os.environ, "COLUMNS": str(COLUMNS), "NO_COLOR": "1"}
        try:
            done = subprocess.run(  # noqa: S603 - podium itself, without a shell
                line,
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UsageFault(
                f"no answer within {self.seconds:g} seconds; ask about a smaller folder"
            ) from None
        if done.returncode not in MEANINGS:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise UsageFault(
                said.removeprefix("podium: ") or f"podium ended with status {done.returncode}"
            )
        text = _bounded(done.stdout, whole)
        return Answer(done.returncode, MEANINGS[done.returncode], text)


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
