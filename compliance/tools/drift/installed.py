"""An installed `mlperf-logging`, in a separate process with a temporary working directory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from podium.compliance.errors import UsageFault

SCRIPT = Path(__file__).with_name("official.py")


class KeyRule(msgspec.Struct, frozen=True):
    """The entry of a rule file for a key, in its syntax: the count, and the tests of records."""

    times: str = ""
    each: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    some: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The full entry on one line."""
        first = (f"first: {test}" for test in self.first)
        tests = (f"some: {test}" for test in self.some)
        return "; ".join(filter(None, (*self.each, *first, *tests, self.times)))


class OfficialPoint(msgspec.Struct, frozen=True):
    """A reference convergence point of a release."""

    batch_size: float
    to_converge: tuple[float, ...]


class About(msgspec.Struct, frozen=True):
    """An installed release: its rule files by round, file and key, and runs by suite.

    `names` are the benchmarks of each round. `points` are the reference points by round, benchmark
    and id. `aliases` maps other folder names to benchmarks.
    """

    version: str
    rules: dict[str, dict[str, dict[str, KeyRule]]]
    runs: dict[str, dict[str, int]] = {}
    names: dict[str, tuple[str, ...]] = {}
    points: dict[str, dict[str, dict[str, OfficialPoint]]] = {}
    aliases: dict[str, str] = {}

    def files(self, usage: str, round_name: str) -> dict[str, dict[str, KeyRule]]:
        """The rule files of a round; empty if the release does not have the round."""
        return self.rules.get(f"{usage} {round_name}", {})


class CheckerVerdict(msgspec.Struct, frozen=True):
    """A verdict: whether a log passes, and the violated keys; or `crash`."""

    passes: bool
    keys: frozenset[str] = frozenset()
    crash: str = ""


class Installed:
    """The official checker of one Python. Use it in a `with` statement.

    Raises UsageFault if that Python does not start, or has no `mlperf-logging`.
    """

    def __init__(self, python: str | None = None) -> None:
        self.python = python or sys.executable
        self._words: tuple[str, ...] = ()

    @classmethod
    def about(cls, python: str | None = None) -> About:
        """The release that is installed for a Python."""
        release = cls(python)
        release._words = ("about",)
        with release:
            return msgspec.json.decode(release._answer(), type=About)

    def __enter__(self) -> Self:
        # The official checker writes a log file into its working directory
        self._scratch = tempfile.TemporaryDirectory(prefix="podium-drift-")
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the Python that the user names
                [str(Path(self.python).absolute()), str(SCRIPT), *self._words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                cwd=self._scratch.name,
            )
        except OSError as error:
            self._scratch.cleanup()
            raise UsageFault(f"{self.python} cannot be started: {error.strerror}") from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None and not stream.closed:
                stream.close()
        self._process.kill()
        self._process.wait()
        self._scratch.cleanup()

    def judge(self, usage: str, round_name: str, log: bytes) -> CheckerVerdict:
        """The verdict on a log with the rules of a round."""
        request: dict[str, Any] = {"usage": usage, "round": round_name}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request | {"text": log.decode("latin-1")}) + "\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._answer(), type=CheckerVerdict)

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            return line
        assert self._process.stderr is not None
        reason = (self._process.stderr.read().strip().splitlines() or ["no reason given"])[-1]
        raise UsageFault(
            f"the official checker does not run: {reason}; install mlperf-logging for "
            f"{self.python}, or pass a Python that has it with --python"
        )
