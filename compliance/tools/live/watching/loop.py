"""`podium watch`: poll all logs, show changes, and decide when to end."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from podium.compliance.errors import NothingToJudge, UsageFault
from podium.compliance.exit_codes import Exit
from podium.compliance.judging.inputs.round_selection import rules_of
from podium.compliance.judging.logs.broken_rule import crashed
from podium.compliance.reporting.conclusion import Decision, conclude
from podium.compliance.reporting.console import colored, plain_characters, print_text, width
from podium.compliance.reporting.data import FileEntry, Outcome, Rules, fails
from podium.compliance.reporting.json_text import json_text
from podium.compliance.tools.live.watching.outputs import (
    Json,
    Live,
    Output,
    Plain,
    document,
    print_page,
)
from podium.compliance.tools.live.watching.status import Status
from podium.compliance.tools.live.watching.watched import Watched, WatchOptions

if TYPE_CHECKING:
    from podium.compliance.tools.live.watching.metrics import Metrics

GRACE_S = 30
"""Seconds that a command of --exec may run after the watch has ended."""


def _words(command: str) -> list[str]:
    """The words of `--exec`; raises UsageFault if they cannot be parsed."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageFault(f"--exec {command}: {error}") from None
    if command and not words:
        raise UsageFault("--exec needs a command")
    return words


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line."""

    judging: WatchOptions = field(default_factory=WatchOptions)
    interval: float = 1.0
    once: bool = False
    follow: bool = False
    timeout: float | None = None
    format: str = "text"
    command: str = ""
    exit_on_error: bool = False
    strict: bool = False
    color: bool = True
    metrics: Path | None = None


class Watch:
    """Several logs, watched together; tests replace clock and sleep."""

    def __init__(
        self,
        paths: Sequence[str],
        options: Options,
        *,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.command = _words(options.command)
        self.options, self.sleep, self.now = options, sleep, now
        self.logs = [Watched(path, options.judging) for path in dict.fromkeys(paths)]
        self.started: list[subprocess.Popen[bytes]] = []
        self.alarmed: set[str] = set()
        self.metrics: Metrics | None = None

    def run(self) -> Exit:
        """Watch until every log has ended; returns the exit status."""
        output = self._output()
        try:
            self._follow(output)
        finally:
            output.close()
            for log in self.logs:
                log.tail.close()
        self._conclude()
        self._wait_for_commands()
        if not any(log.tail.seen for log in self.logs):
            problems = [f"{log.path} {log.tail.problem}" for log in self.logs if log.tail.problem]
            if problems:
                raise NothingToJudge("; ".join(problems))
            raise NothingToJudge(f"no such log: {', '.join(log.path for log in self.logs)}")
        return self._status()

    # --- while logs grow ---

    def _follow(self, output: Output) -> None:
        options = self.options
        ends = None if options.timeout is None else self.now() + options.timeout
        first = True
        while True:
            changed = [log.poll() for log in self.logs]
            # A status is the main cost of a poll, and does not change without new records
            if first or any(changed) or isinstance(output, Live):
                output.show(self._statuses(), first or any(changed))
            first = False
            for log in self.logs:
                self._alarm(log)
            if self._is_over(ends):
                return
            self.sleep(options.interval)

    def _is_over(self, ends: float | None) -> bool:
        options = self.options
        if options.once or (options.exit_on_error and self.alarmed):
            return True
        # Some keys may follow run_stop: a poll without records shows that the log is complete
        if not options.follow and all(log.stopped and log.quiet for log in self.logs):
            return True
        return ends is not None and self.now() >= ends

    def _alarm(self, log: Watched) -> None:
        """Run the command of --exec for the first error of a log, once."""
        fatal = log.fatal
        if fatal is None or log.path in self.alarmed:
            return
        self.alarmed.add(log.path)
        if self.command:
            variables = {
                "PODIUM_LOG": log.path,
                "PODIUM_RULE": fatal.id,
                "PODIUM_LINE": "" if fatal.line is None else str(fatal.line),
                "PODIUM_MESSAGE": fatal.message,
            }
            try:
                # The user's command, without a shell, so no shell ever parses text of a log
                process = subprocess.Popen(  # noqa: S603
                    self.command, env={**os.environ, **variables}, stdin=subprocess.DEVNULL
                )
            except OSError as error:
                raise UsageFault(f"--exec {self.command[0]}: {error.strerror or error}") from None
            self.started.append(process)

    def _wait_for_commands(self) -> None:
        for process in self.started:
            try:
                process.wait(GRACE_S)
            # The command belongs to the user and continues
            except subprocess.TimeoutExpired:
                continue

    # --- at the end ---

    def _conclude(self) -> None:
        """Print the report on the ended logs, and the status of the others."""
        ended = [log for log in self.logs if log.stopped]
        for log in ended:
            log.judge()
        report = self.report(ended) if ended else None
        statuses = self._statuses()
        if self.metrics is not None:
            self.metrics.write([*map(_judged, self.logs, statuses)])
        if self.options.format == "json":
            data = document(statuses, asdict(self._rules())) | {"done": True}
            data["report"] = report
            print_text(json_text(data, indent=2 if self.options.once else None))
            return
        unfinished = [s for s in statuses if s.phase != "stopped"]
        print_page(statuses if self.options.once else unfinished, plain=plain_characters())
        if report is not None:
            from podium.compliance.reporting.render.text import render

            print_text(render(report, width=width(), color=colored(self.options.color)))

    def report(self, logs: Sequence[Watched]) -> Outcome:
        """The report that `podium check` gives on these logs."""
        files, strict = [], self.options.strict
        for log in logs:
            verdict = log.judge()
            files.append(
                FileEntry(
                    path=log.path,
                    kind="log",
                    verdict="fail" if fails(verdict.findings, strict=strict) else "pass",
                    benchmark=verdict.benchmark,
                    division=verdict.division,
                    minutes=verdict.minutes,
                    converged=verdict.converged,
                )
            )
        findings = [finding for log in logs for finding in log.judge().findings]
        return conclude(
            self._rules(), files=files, findings=findings, decision=Decision(strict=strict)
        )

    def _status(self) -> Exit:
        findings = [
            finding
            for log in self.logs
            # A log that has not ended has no verdict, but its certain findings count
            for finding in (log.verdict.findings if log.verdict else log.guard.findings)
        ]
        # A crashed rule may have hidden an error, so neither verdict would be correct
        if crashed(findings):
            return Exit.INTERNAL
        return Exit.FOUND if fails(findings, strict=self.options.strict) else Exit.CLEAN

    def _rules(self) -> Rules:
        return rules_of([log.choice for log in self.logs], self.options.judging.profile)

    # --- output ---

    def _statuses(self) -> list[Status]:
        now = self.now() * 1000
        return [log.status(now) for log in self.logs]

    def _output(self) -> Output:
        output = self._shown()
        if self.options.metrics is None:
            return output
        from podium.compliance.tools.live.watching.metrics import Metrics

        self.metrics = Metrics(self.options.metrics, output)
        return self.metrics

    def _shown(self) -> Output:
        if self.options.format == "json":
            return _Silent() if self.options.once else Json(asdict(self._rules()))
        if self.options.once:
            return _Silent()
        if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
            return Plain()
        from rich.console import Console

        console = Console(highlight=False, no_color=not colored(self.options.color))
        return Live(console, plain=plain_characters())


def _judged(log: Watched, status: Status) -> Status:
    """The status with all findings of an ended log; some findings need the complete log."""
    return replace(status, findings=list(log.verdict.findings)) if log.verdict else status


class _Silent:
    def show(self, statuses: Sequence[Status], changed: bool) -> None:
        pass

    def close(self) -> None:
        pass
